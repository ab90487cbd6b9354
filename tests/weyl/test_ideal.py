"""Left ideals: textbook systems, trivial ideals, and what is refused."""

from __future__ import annotations

import pickle

import pytest

from holokern.errors import BadInput, BadOperator, NotHolonomic, UnknownName, Unsupported
from holokern.weyl import LeftIdeal, Operator, SymbolIdeal, weyl_algebra
from holokern.weyl.algebra.symbols import initial_form
from holokern.weyl.rational.fractions import function_field

D1 = weyl_algebra("x")
D = weyl_algebra("x y")
D3 = weyl_algebra("x y z")

F1 = D.ideal(
    "x*(1-x)*dx^2 + y*(1-x)*dx*dy + (3/2 - 11/6*x)*dx - y/3*dy - 1/6",
    "y*(1-y)*dy^2 + x*(1-y)*dx*dy + (3/2 - 7/4*y)*dy - x/4*dx - 1/8",
    "(x-y)*dx*dy - 1/4*dx + 1/3*dy",
)
F4 = D.ideal(
    "x*(1-x)*dx^2 - y^2*dy^2 - 2*x*y*dx*dy + (1/3 - 7/4*x)*dx - 7/4*y*dy - 1/8",
    "y*(1-y)*dy^2 - x^2*dx^2 - 2*x*y*dx*dy + (1/5 - 7/4*y)*dy - 7/4*x*dx - 1/8",
)
QUADRATIC = D3.ideal("dx*dz - dy^2", "x*dx + y*dy + z*dz", "y*dy + 2*z*dz + 1")


def polynomial(*texts: str) -> Operator:
    result = D3.one if any("z" in text for text in texts) else D.one
    for text in texts:
        result = result * result.algebra(text)
    return result.primitive()


class TestTextbook:
    def test_airy(self) -> None:
        airy = D1.ideal("dx^2 - x")
        assert airy.rank() == 2
        assert airy.standard_monomials() == (D1.one, D1("dx"))
        assert airy.singular_locus() == (D1.one,)
        assert airy.is_holonomic

    def test_gauss_hypergeometric(self) -> None:
        gauss = D1.ideal("x*(1-x)*dx^2 + (1/3 - 9/4*x)*dx - 3/8")
        assert gauss.rank() == 2
        assert gauss.singular_locus() == (D1("x^2 - x"),)
        # The exponents 0 and 2/3 at the origin.
        assert gauss.initial((-1, 1)) == D1.ideal("x*dx^2 + 1/3*dx")

    def test_appell_f1_has_rank_three(self) -> None:
        assert F1.is_holonomic
        assert F1.rank() == 3
        assert F1.singular_locus() == (polynomial("x", "y", "x-1", "y-1", "x-y"),)

    def test_appell_f4_has_rank_four(self) -> None:
        assert F4.rank() == 4
        assert F4.singular_locus() == (polynomial("x", "y", "(x-y)^2 - 2*(x+y) + 1"),)

    def test_roots_of_a_quadratic_polynomial(self) -> None:
        """The roots of x + y·t + z·t² span the solutions of this GKZ system [SST2000, Sect. 1.4]."""
        assert QUADRATIC.is_holonomic
        assert QUADRATIC.rank() == 2
        assert QUADRATIC.singular_locus() == (polynomial("x", "z", "y^2 - 4*x*z"),)

    @pytest.mark.parametrize(("beta", "rank"), [((1, 1), 4), ((1, 2), 5)])
    def test_rank_jump_of_the_curve_0134(self, beta: tuple[int, int], rank: int) -> None:
        """The GKZ system of 0, 1, 3, 4 has rank 4 except at (1, 2), where it is 5 [SST2000, Sect. 4.2]."""
        W = weyl_algebra("a b c d")
        toric = ["da*dd - db*dc", "db^3 - da^2*dc", "dc^3 - db*dd^2", "da*dc^2 - db^2*dd"]
        euler = [f"a*da + b*db + c*dc + d*dd - {beta[0]}", f"b*db + 3*c*dc + 4*d*dd - {beta[1]}"]
        ideal = W.ideal(*toric, *euler)
        assert ideal.is_holonomic
        assert ideal.rank() == rank

    def test_delta_function_and_constants(self) -> None:
        delta = D.ideal("x", "y")
        assert delta.is_holonomic
        assert delta.rank() == 0
        assert delta.standard_monomials() == ()
        assert set(delta.singular_locus()) == {D("x"), D("y")}
        constants = D.ideal("dx", "dy")
        assert constants.rank() == 1
        assert constants.singular_locus() == (D.one,)

    def test_characteristic_ideal_of_a_normal_crossing(self) -> None:
        ideal = D.ideal("x*dx + 1", "y*dy + 1")
        assert set(ideal.characteristic_ideal().generators) == {
            ideal.characteristic_ideal().ring("x*xi_x"),
            ideal.characteristic_ideal().ring("y*xi_y"),
        }
        assert ideal.characteristic_ideal().dimension() == 2
        assert "x*y*xi_x*xi_y" in ideal.characteristic_ideal()
        assert "x*y" not in ideal.characteristic_ideal()

    def test_elimination_for_an_exponential(self) -> None:
        """exp(x·y) satisfies dx = y and dy = x; without y only the second is left, without y and dy nothing."""
        ideal = D.ideal("dx - y", "dy - x")
        assert [g.primitive() for g in ideal.eliminate("y")] == [D("dy - x")]
        assert ideal.eliminate("y dy") == ()
        assert ideal.contraction("x").is_zero

    def test_contraction_gives_the_ode_of_a_logarithm(self) -> None:
        ideal = D.ideal("x*dx + y*dy", "dx*dy")
        found = ideal.contraction("y")
        assert found == weyl_algebra("y").ideal("y*dy^2 + dy")
        assert found.algebra == weyl_algebra("y")


class TestTrivialIdeals:
    def test_zero(self) -> None:
        zero = D.ideal()
        assert zero.is_zero
        assert zero.groebner() == ()
        assert zero.dimension() == 4
        assert not zero.is_holonomic
        assert D.zero in zero
        assert D.one not in zero
        assert zero.normal_form("x*dx") == D("x*dx")
        assert zero.eliminate("x") == ()
        assert zero.initial((-1, -1, 1, 1)).is_zero
        assert zero == D.ideal("0", "x - x")
        with pytest.raises(NotHolonomic, match="infinite holonomic rank"):
            zero.rank()
        assert zero.singular_locus() == (D.zero,)
        assert zero.singular_factors() == ()

    def test_everything(self) -> None:
        unit = D.ideal("dx", "x*dx - 1")
        assert unit.is_unit
        assert unit.groebner() == (D.one,)
        assert unit.dimension() == -1
        assert unit.is_holonomic
        assert unit.rank() == 0
        assert unit.singular_locus() == (D.one,)
        assert "x^7*dy" in unit
        assert unit.initial((-1, 0, 1, 0)).is_unit
        assert unit == D.ideal("5")

    def test_not_holonomic(self) -> None:
        wave = D.ideal("dx^2 - dy^2")
        assert wave.dimension() == 3
        assert not wave.is_holonomic
        with pytest.raises(NotHolonomic, match="add operators"):
            wave.rank()
        assert wave.singular_locus() == (D.zero,)

    @pytest.mark.parametrize(
        ("generators", "locus"),
        [
            # as singLocus of Macaulay2 defines it: saturate the characteristic ideal by the ξ, then eliminate them
            (["x*dx"], ["0"]),
            (["x*dx", "dx*dy"], ["0"]),
            (["x^2*dx", "x^2*dy"], ["x"]),
            (["x^2*y^2*dx", "x^2*y^2*dy"], ["x*y"]),
            (["(x^2 - y)^2*dx", "(x^2 - y)^2*dy"], ["x^2 - y"]),
        ],
    )
    def test_singular_locus_without_holonomicity(self, generators: list[str], locus: list[str]) -> None:
        ideal = D.ideal(generators)
        assert not ideal.is_holonomic
        assert ideal.singular_locus() == tuple(map(D, locus))

    def test_singular_locus_of_codimension_two_without_holonomicity(self) -> None:
        ideal = D3.ideal([f"{v}^2*{d}" for v in "xy" for d in ("dx", "dy", "dz")])
        assert ideal.dimension() == 4
        assert ideal.singular_locus() == (D3("y"), D3("x"))
        assert ideal.singular_factors() == ()

    def test_finite_rank_without_holonomicity(self) -> None:
        """x²dx and x²dy… kill 1 off x = 0, but on x = 0 nothing bounds dy: the rank is finite, the dimension is 3."""
        ideal = D.ideal("x^2*dx", "x^2*dy")
        assert ideal.rank() == 1
        assert ideal.dimension() == 3
        assert ideal.singular_locus() == (D("x"),)
        assert ideal.singular_factors() == (function_field("x y")("x"),)


class TestObject:
    def test_generators_are_read_and_zeros_dropped(self) -> None:
        ideal = D.ideal(["dx", D("dy"), 0, "dx"])
        assert ideal.generators == (D("dx"), D("dy"))
        assert repr(ideal) == "<left ideal in x y: dx, dy>"

    def test_comparison(self) -> None:
        assert D.ideal("dx", "dy") >= D.ideal("x*dx")
        assert D.ideal("x*dx") <= D.ideal("dx")
        assert not D.ideal("dx") <= D.ideal("x*dx")
        assert D.ideal("dx", "dy") == D.ideal("dx + dy", "dy - dx")
        assert hash(D.ideal("dx", "dy")) == hash(D.ideal("dx + dy", "dy - dx"))
        assert D.ideal("dx") != D1.ideal("dx")
        assert D.ideal("dx") != "dx"
        assert D.ideal("dx") + D.ideal("dy") == D.ideal("dx", "dy")

    def test_immutable_and_picklable(self) -> None:
        ideal = D.ideal("dx")
        with pytest.raises(AttributeError):
            ideal.generators = ()  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(ideal)) == ideal

    def test_bases_for_named_orders_and_weights(self) -> None:
        ideal = D.ideal("x*dx + y*dy", "dx*dy")
        assert ideal.groebner("degrevlex") == ideal.groebner("grevlex") == ideal.groebner()
        for order in (None, "grevlex", "lex", "order", (0, 0, 1, 1), (-1, -1, 1, 1)):
            basis = ideal.groebner(order)
            assert LeftIdeal(D, basis) == ideal

    def test_kinds_of_initial_ideals(self) -> None:
        ideal = D.ideal("dx^2 - y", "dy")
        assert isinstance(ideal.initial((-1, -1, 1, 1)), LeftIdeal)
        assert isinstance(ideal.initial((0, 0, 1, 1)), SymbolIdeal)
        assert isinstance(F1.initial((-1, -1, 2, 2)), SymbolIdeal)

    def test_initial_ideal_for_mixed_weights(self) -> None:
        """dx stays a derivation, dy becomes a symbol that commutes with y; the dimension of the quotient is kept."""
        weights = (-1, 0, 1, 1)
        mixed = F1.initial(weights)
        assert isinstance(mixed, SymbolIdeal)
        assert (mixed.ring.variables, mixed.weyl) == (("x", "y", "xi_y"), (0,))
        assert mixed.dimension() == F1.dimension() == 2
        for form in F1.initial_forms(weights):
            assert str(form).replace("dy", "xi_y") in mixed
        assert "dx*x*xi_y - x*xi_y*dx - xi_y" in F1.initial(weights)  # [dx, x] = 1 and [xi_y, y] = 0
        assert "xi_y*y - y*xi_y" in mixed
        assert "xi_y" not in mixed
        assert repr(mixed).startswith("<left ideal in x y xi_y dx: y*xi_y*dx, ")
        with pytest.raises(BadInput, match="commuting symbol"):
            assert "unused_d1" in mixed

    @pytest.mark.parametrize("weights", [(-1, 0, 1, 1), (0, -1, 1, 1), (1, -2, 0, 2), (0, 0, 1, 0)])
    def test_mixed_initial_ideals_contain_initial_forms_of_members(self, weights: tuple[int, ...]) -> None:
        f, g = F1.generators[0], F1.generators[2]
        places = [i for i in range(2) if weights[i] + weights[2 + i] > 0]
        for element in (f, g, D("dx") * f + D("x*dy") * g, D("y*dy") * f - D("dx^2 + x") * g):
            form = initial_form(element, weights)
            text = str(form)
            for i in places:
                text = text.replace(D.derivations[i], f"xi_{D.variables[i]}")
            assert text in F1.initial(weights)

    def test_latex(self) -> None:
        ideal = weyl_algebra("x1 y").ideal("x1*dx1 - 1/2", "dy")
        source = r"\left\langle x_{1} \partial_{x_{1}} - \frac{1}{2},\; \partial_{y} \right\rangle"
        assert ideal.latex() == source
        assert ideal._repr_latex_() == f"${source}$"
        assert D.ideal().latex() == r"\left\langle 0 \right\rangle"
        symbols = ideal.characteristic_ideal()
        assert symbols.latex() == r"\left\langle \xi_{y},\; x_{1} \xi_{x_{1}} \right\rangle"
        assert symbols._repr_latex_() == f"${symbols.latex()}$"

    def test_certified_is_inherited(self) -> None:
        ideal = D.ideal("x*dx + y*dy", "dx*dy", certified=True)
        plain = D.ideal("x*dx + y*dy", "dx*dy")
        assert ideal == plain and not plain.certified
        assert plain.groebner(certified=True) == ideal.groebner()
        made = [
            ideal + plain,
            ideal.contraction("x"),
            ideal.initial((-1, -1, 1, 1)),
            ideal.fourier("x"),
            ideal.restriction({"x": 1}),
            ideal.integration("x"),
            pickle.loads(pickle.dumps(ideal)),
        ]
        assert all(isinstance(one, LeftIdeal) and one.certified for one in made)
        assert ideal.rank() == plain.rank() == 2
        assert ideal.singular_locus() == plain.singular_locus() == (D("x*y"),)

    def test_one_text_alone_is_one_generator(self) -> None:
        assert LeftIdeal(D, "x*dx").generators == (D("x*dx"),)
        assert LeftIdeal(D, D("x*dx")).generators == D.ideal(D("x*dx")).generators == (D("x*dx"),)

    def test_refusals(self) -> None:
        with pytest.raises(BadOperator):
            D.ideal("dx + q")
        with pytest.raises(BadOperator):
            D.ideal(D1("x"))
        with pytest.raises(UnknownName):
            D.ideal("dx").contraction("z")
        with pytest.raises(BadInput):
            D.ideal("dx").contraction("")
        with pytest.raises(UnknownName):
            D.ideal("dx").groebner("revlex")
        with pytest.raises(BadInput):
            D.ideal("dx").initial((-2, 0, 1, 0))
        with pytest.raises(BadInput):
            D.ideal("dx") + D1.ideal("dx")
        with pytest.raises(Unsupported):
            D.ideal("dx").normal_form("x", (-1, -1, 1, 1))
        with pytest.raises(BadInput):
            assert "x + unused_d0" in D.ideal("dx").characteristic_ideal()
