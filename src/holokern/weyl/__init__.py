"""The Weyl algebra over Q: operators, Gröbner bases, restriction and integration; usable on its own."""

from holokern.weyl.algebra.monomials import derivatives_of, grevlex_key, lowered, of_degree, raised
from holokern.weyl.algebra.notation import latex_monomial, latex_name, monomial_text
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order, elimination, grevlex, lex, weight_order
from holokern.weyl.algebra.symbols import SymbolIdeal
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational, weyl_algebra
from holokern.weyl.constructions.annihilators import (
    annihilator_of_exponential,
    annihilator_of_polynomial,
    annihilator_of_power,
    annihilator_of_rational_function,
    annihilator_of_symbolic_power,
)
from holokern.weyl.constructions.bernstein import bernstein_operator, bernstein_sato, local_bernstein_sato
from holokern.weyl.constructions.closure import Entry, compose
from holokern.weyl.constructions.hypergeometric import (
    appell,
    gauss,
    gkz,
    hyperexponential,
    hypergeometric,
    lauricella,
    toric_ideal,
)
from holokern.weyl.constructions.localization import Localization, localization, saturation
from holokern.weyl.constructions.operations import (
    adjoint,
    annihilator_of_image,
    gcrd,
    intersection,
    lclm,
    product_of_functions,
    symmetric_product,
)
from holokern.weyl.constructions.solutions import polynomial_solutions, rational_solutions
from holokern.weyl.constructions.telescoping import Telescoper, telescoper
from holokern.weyl.groebner.certificate import membership_certificate
from holokern.weyl.groebner.checker import check_groebner_basis, check_membership
from holokern.weyl.modules.automorphisms import fourier_transform, inverse_fourier_transform, translate
from holokern.weyl.modules.bfunction import BFunction, b_function
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.modules.koyama_takemura import (
    gaussian_integral_algebra,
    koyama_takemura_ideal,
    koyama_takemura_ideal_of_product,
)
from holokern.weyl.modules.module import LeftModule
from holokern.weyl.modules.restriction import (
    RestrictionModule,
    integration_ideal,
    integration_module,
    restriction_ideal,
    restriction_module,
)
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.basis import differentiate
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, common_denominator, function_field
from holokern.weyl.rational.ideal import RationalIdeal, rational_extension
from holokern.weyl.rational.matrices import (
    Matrix,
    change_of_basis,
    gauge_transform,
    inverse_matrix,
    irreducible_factors,
    multiply_matrices,
    read_matrix,
)
from holokern.weyl.rational.parameters import substitution
from holokern.weyl.rational.polynomials import by_powers, evaluate_polynomial, multiplicity, split_off
from holokern.weyl.univariate.bernstein import bernstein_basis
from holokern.weyl.univariate.operators import UnivariateIdeal, weyl_closure

__all__ = [
    "BFunction",
    "Entry",
    "FunctionField",
    "LeftIdeal",
    "LeftModule",
    "Localization",
    "Matrix",
    "Operator",
    "Order",
    "RationalFunction",
    "RationalIdeal",
    "RationalOperator",
    "RationalWeylAlgebra",
    "RestrictionModule",
    "SymbolIdeal",
    "Telescoper",
    "UnivariateIdeal",
    "WeylAlgebra",
    "adjoint",
    "annihilator_of_exponential",
    "annihilator_of_image",
    "annihilator_of_polynomial",
    "annihilator_of_power",
    "annihilator_of_rational_function",
    "annihilator_of_symbolic_power",
    "appell",
    "b_function",
    "bernstein_basis",
    "bernstein_operator",
    "bernstein_sato",
    "by_powers",
    "change_of_basis",
    "check_groebner_basis",
    "check_membership",
    "common_denominator",
    "compose",
    "derivatives_of",
    "differentiate",
    "elimination",
    "evaluate_polynomial",
    "exact_rational",
    "fourier_transform",
    "function_field",
    "gauge_transform",
    "gauss",
    "gaussian_integral_algebra",
    "gcrd",
    "gkz",
    "grevlex",
    "grevlex_key",
    "hyperexponential",
    "hypergeometric",
    "integration_ideal",
    "integration_module",
    "intersection",
    "inverse_fourier_transform",
    "inverse_matrix",
    "irreducible_factors",
    "koyama_takemura_ideal",
    "koyama_takemura_ideal_of_product",
    "latex_monomial",
    "latex_name",
    "lauricella",
    "lclm",
    "lex",
    "local_bernstein_sato",
    "localization",
    "lowered",
    "membership_certificate",
    "monomial_text",
    "multiplicity",
    "multiply_matrices",
    "of_degree",
    "polynomial_solutions",
    "product_of_functions",
    "raised",
    "rational_extension",
    "rational_solutions",
    "rational_weyl_algebra",
    "read_matrix",
    "restriction_ideal",
    "restriction_module",
    "saturation",
    "split_off",
    "substitution",
    "symmetric_product",
    "telescoper",
    "toric_ideal",
    "translate",
    "weight_order",
    "weyl_algebra",
    "weyl_closure",
]
