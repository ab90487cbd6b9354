"""Tables of functions of two deviations and an angle: sums, derivatives, files, and the form for machine code."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from holokern.numeric import fit_angles, graded_edges
from holokern.numeric.machine.cells import Cells
from holokern.numeric.machine.look_up import Task, TileAngles, TileValues, look_up
from holokern.numeric.table import Range, Series, Table, Tensor

SPAN = Range(-0.4, 0.9)
EDGES = np.array([0.0, 0.5, 1.5, 2.5, np.pi])


def tensor(random, terms, functions=3, degree=6):
    """Coefficients that decay as those of smooth functions do."""
    decay = 0.3 ** np.arange(degree)[:, None]
    core = random.standard_normal((functions, functions, terms)) * 0.4 ** np.arange(terms)
    return Tensor(random.standard_normal((degree, functions)) * decay, core + core.swapaxes(0, 1))


def plain(one):
    """The Chebyshev coefficients in ℓ1, ℓ2 and θ."""
    return np.einsum("pa,qb,abm->pqm", one.functions, one.functions, one.core)


@pytest.fixture(scope="module")
def table():
    """One function that does not depend on the angle and two that do, on all panels but the second."""
    random = np.random.default_rng(0)
    flat = tensor(random, 1)
    panels = [(flat, tensor(random, 9), tensor(random, 14)) for _ in range(4)]
    return Table(SPAN, EDGES, (panels[0], None, panels[2], panels[3]), 1)


def points(count, seed=1):
    random = np.random.default_rng(seed)
    logs = random.uniform(SPAN.low, SPAN.high, (2, count))
    return logs[0], logs[1], np.pi * random.random(count)


def test_values_are_those_of_the_plain_sums(table):
    first, second, theta = points(50)
    found = table(first, second, theta)
    for i in range(50):
        panel = int(table.panel_of(theta[i : i + 1])[0])
        if table.panels[panel] is None:
            assert np.all(np.isnan(found[:, i]))
            continue
        at = SPAN.place(first[i]), SPAN.place(second[i]), table.unit(theta[i], panel)
        exact = [chebyshev.chebval3d(*at, plain(one)) for one in table.panels[panel]]
        assert np.allclose(found[:, i], exact, rtol=0, atol=1e-13)


def test_tiles_have_the_values_of_their_pairs(table):
    first, second, theta = points(8)[0], points(5, 2)[1], np.pi * np.random.default_rng(6).random((8, 5))
    pairs = np.broadcast_arrays(first[:, None], second, theta)
    exact = table(*(x.ravel() for x in pairs)).reshape(3, 8, 5)
    assert np.allclose(table.on_tile(first, second, theta), exact, rtol=0, atol=1e-13, equal_nan=True)


def test_jets_against_differences(table):
    random = np.random.default_rng(3)
    first, second = random.uniform(SPAN.low + 0.01, SPAN.high - 0.01, (2, 4))
    theta = random.uniform(1.6, 2.4, (4, 4))
    step = 1e-5

    def values(a, b, t):
        pairs = np.broadcast_arrays(a[:, None], b, t)
        return table(*(x.ravel() for x in pairs)).reshape(-1, 4, 4)

    jets = table.jets(first, second, theta)
    exact = values(first, second, theta)
    moved = [
        (values(first + step, second, theta) - values(first - step, second, theta)) / (2 * step),
        (values(first, second + step, theta) - values(first, second - step, theta)) / (2 * step),
        (values(first, second, theta + step) - values(first, second, theta - step)) / (2 * step),
    ]
    for number, jet in enumerate(jets):
        assert np.allclose(jet.value, exact[number], rtol=0, atol=1e-13)
        for part, difference in zip((jet.first, jet.second, jet.angle), moved, strict=True):
            assert np.allclose(part, difference[number], rtol=0, atol=1e-7)
        rates, turning = random.standard_normal(4), random.standard_normal((4, 4))
        along = jet.first * rates[:, None] + jet.second * rates + jet.angle * turning
        assert np.allclose(jet.along(rates, turning), along, rtol=0, atol=1e-13)


def test_jets_where_a_panel_is_missing(table):
    (jet, *_) = table.jets(np.zeros(1), np.zeros(1), np.array([[1.0]]))
    assert np.isnan(jet.value).all()
    assert np.isnan(jet.angle).all()


def test_arrays_make_the_same_table(table):
    again = Table.from_arrays(table.arrays())
    assert again.range == table.range
    assert again.count == table.count == 3
    assert np.array_equal(again(*points(40)), table(*points(40)), equal_nan=True)


def spoiled(found, how):
    found = {name: array.copy() for name, array in found.items()}
    if how == "missing core":
        del found["core0_1"]
    elif how == "missing edges":
        del found["edges"]
    elif how == "shape":
        found["core0_1"] = found["core0_1"][:2]
    elif how == "dimensions":
        found["core0_1"] = found["core0_1"][0]
    elif how == "functions":
        found["functions0"] = found["functions0"].ravel()
    elif how == "nan":
        found["core2_2"][0, 0, 0] = np.nan
    elif how == "infinite":
        found["functions0"][0, 0] = np.inf
    elif how == "panel":
        found["layout"][0, 0] = 17
    elif how == "negative panel":
        found["layout"][0, 0] = -1
    elif how == "panels of different sizes":
        found["layout"] = found["layout"][1:]
    elif how == "edges":
        found["edges"] = found["edges"][::-1].copy()
    elif how == "nothing":
        found["layout"] = np.empty((0, 3))
    elif how == "flat":
        found["flat"] = np.array([2.0])
    elif how == "all flat":
        found["flat"] = np.array([3.0])
    elif how == "range":
        found["range"] = np.zeros(3)
    return found


DAMAGES = [
    "missing core", "missing edges", "shape", "dimensions", "functions", "nan", "infinite", "panel", "negative panel",
    "panels of different sizes", "edges", "nothing", "range", "flat",
    "all flat",
]  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_arrays_are_rejected(table, how):
    with pytest.raises((KeyError, ValueError, TypeError)):
        Table.from_arrays(spoiled(table.arrays(), how))


def test_terms_that_are_rounding_errors_are_dropped():
    core = np.zeros((1, 1, 9))
    core[0, 0, :5] = 1.0, 0.1, 1e-3, 1e-8, 1e-18
    assert Tensor(np.ones((1, 1)), core).trimmed().core.shape == (1, 1, 4)
    assert Tensor(np.ones((1, 1)), 0 * core).trimmed().core.shape == (1, 1, 1)


def test_compressed_tensors_have_fewer_functions():
    random = np.random.default_rng(8)
    small = tensor(random, 5, functions=2)
    mixed = random.standard_normal((2, 7))
    core = np.einsum("ap,bq,abm->pqm", mixed, mixed, small.core)
    functions = random.standard_normal((9, 7))
    found = Tensor(functions, core).compressed(1e-14)
    assert found.core.shape[:2] == (2, 2)
    assert np.allclose(plain(found), plain(Tensor(functions, core))[:, :, : found.core.shape[2]], rtol=0, atol=1e-12)


def test_a_range():
    assert SPAN.place(np.array([SPAN.low, 0.25, SPAN.high + 1])).tolist() == pytest.approx([-1.0, 0.0, 1.0])
    assert SPAN.covers(Range(-0.4, 0.5))
    assert not SPAN.covers(Range(-0.5, 0.5))
    point = Range(0.3, 0.3)
    assert point.is_point
    assert point.rate == 0.0
    assert point.place(np.array([0.3])).tolist() == [0.0]
    assert point.nodes(1).tolist() == [0.3]
    assert np.all((SPAN.nodes(9) > SPAN.low) & (SPAN.nodes(9) < SPAN.high))


def test_a_series_and_its_derivative():
    logs = np.linspace(SPAN.low, SPAN.high, 7)
    from holokern.numeric.chebyshev import chebyshev_matrix

    series = Series(SPAN, chebyshev_matrix(24) @ np.sin(3 * SPAN.nodes(24)))
    assert np.allclose(series(logs), np.sin(3 * logs), rtol=0, atol=1e-14)
    assert np.allclose(series.derivative(logs), 3 * np.cos(3 * logs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("first", [0.4, 0.1, 1e-3])
def test_panels_are_graded_towards_the_ends(first):
    edges = graded_edges(first, False)
    assert (edges[0], edges[1], edges[-1]) == (0.0, first, np.pi)
    assert np.allclose(edges + edges[::-1], np.pi, rtol=0, atol=1e-15)
    widths = np.diff(edges)[edges[1:] < 0.45]
    assert np.allclose(widths[2:], 2 * widths[1:-1], rtol=1e-14)
    folded = graded_edges(first, True)
    assert folded[-1] == np.pi / 2
    assert np.array_equal(folded[:-1], edges[: len(folded) - 1])


def test_series_in_the_angle_are_as_long_as_they_need_to_be():
    coefficients, settled = fit_angles(lambda t: np.stack([np.cos(t), np.exp(t)]), 0.5, 1.5, (8, 16, 32), 1e-14)
    assert settled
    assert coefficients.shape == (2, 16)
    assert chebyshev.chebval(-0.2, coefficients[1]) == pytest.approx(np.exp(0.9), rel=1e-14)
    coefficients, settled = fit_angles(lambda t: np.abs(t - 0.77)[None], 0.5, 1.5, (8, 16), 1e-14)
    assert not settled
    assert coefficients.shape == (1, 16)


def looked_up(cells, rows, columns, theta, functions=2):
    """The functions of a tile by the machine code, first the one that is flat in the angle; and how many are left."""
    sides = cells.side(rows), cells.side(columns)
    scales = tuple(np.ones((2, len(side.cells))) for side in sides)
    flat, found = np.empty((1, *theta.shape)), np.full((functions, *theta.shape), np.nan)
    starts = np.zeros(len(theta), dtype=np.int64)
    everything = slice(None), slice(None)
    task = Task(0, functions, 0.0)
    left = look_up(cells, sides, everything, scales, task, TileAngles(theta, 0, starts), TileValues(flat, found))
    return np.concatenate([flat, found]), left


@pytest.mark.parametrize("count", [1, 2, 5])
def test_cells_and_machine_code_agree_with_the_table(table, count):
    part = Range(-0.3, 0.8)
    cells = Cells.of(table, part, count)
    random = np.random.default_rng(4)
    rows, columns = random.uniform(part.low, part.high, 3), np.sort(random.uniform(part.low, part.high, 300))
    theta = np.pi * random.random((3, 300))
    found, left = looked_up(cells, rows, columns, theta)
    exact = np.stack([table(np.full(300, row), columns, line) for row, line in zip(rows, theta, strict=True)], axis=1)
    missing = np.isnan(exact[1])
    assert left == missing.sum() > 0
    assert np.allclose(found[1:], exact[1:], rtol=0, atol=2e-13, equal_nan=True)
    assert np.allclose(found[0][~missing], exact[0][~missing], rtol=0, atol=2e-13)


def test_cells_whose_angles_lie_in_other_panels(table):
    """What one cell of columns meets leaves nothing behind for the next one."""
    cells = Cells.of(table, SPAN, 6)
    random = np.random.default_rng(5)
    columns = np.sort(random.uniform(SPAN.low, SPAN.high, 300))
    panel = random.permuted(np.tile(np.arange(len(EDGES) - 1), (4, 2)), axis=1)[:, cells.side(columns).cells]
    theta = EDGES[panel] + np.diff(EDGES)[panel] * random.random((4, 300))
    found, left = looked_up(cells, columns[:4], columns, theta)
    exact = np.stack([table(np.full(300, columns[i]), columns, theta[i]) for i in range(4)], axis=1)
    assert left == np.isnan(exact[1]).sum() > 0
    assert np.allclose(found[1:], exact[1:], rtol=0, atol=2e-13, equal_nan=True)


@pytest.mark.parametrize("single", [False, True])
def test_cores_do_not_depend_on_what_else_was_asked_for(table, single):
    every, few = (Cells.of(table, SPAN, 4, single) for _ in range(2))
    together = every.cores
    few.make(np.zeros(few.arrays.numbers.shape, dtype=bool))
    assert np.all(few.arrays.numbers < 0)
    for t, rows, columns in ((2, [2], [3]), (0, [0, 1], [1]), (2, [3, 2, 1], [3, 1, 2]), (3, [1, 2, 3], [0])):
        asked = np.zeros(few.arrays.numbers.shape, dtype=bool)
        asked[np.ix_(rows, columns, [t])] = True
        few.make(asked)
        assert np.all(few.arrays.numbers[asked] >= 0)
    alone, panels = few.arrays, [t for t, tensors in enumerate(table.panels) if tensors is not None]
    for numbers, exact in ((alone.numbers[..., panels], 14), (few.cores.numbers[..., panels], 48)):
        made = numbers >= 0
        assert made.sum() == len(np.unique(numbers[made])) == exact
    alone = few.arrays
    for place in zip(*np.nonzero(together.numbers >= 0), strict=True):
        first, second = alone.numbers[place], together.numbers[place]
        assert np.array_equal(alone.cores[:, first], together.cores[:, second])
        assert np.array_equal(alone.lengths[:, first], together.lengths[:, second])
    assert np.array_equal(alone.flats, together.flats)


def test_only_what_is_met_is_made(table):
    """A look-up makes the cores of the cells and panels of its pairs, and no others."""
    cells = Cells.of(table, SPAN, 4)
    logs = SPAN.low + SPAN.width * np.array([0.1, 0.9])
    middle = (EDGES[:-1] + EDGES[1:]) / 2
    looked_up(cells, logs[:1], logs, middle[[0, 2]][None])
    assert list(zip(*np.nonzero(cells.arrays.numbers >= 0), strict=True)) == [(0, 0, 0), (0, 3, 2)]


def test_threads_that_make_cores_at_the_same_time(table):
    """The arrays grow while other threads read them."""
    random = np.random.default_rng(10)
    logs, theta = np.sort(random.uniform(SPAN.low, SPAN.high, 200)), np.pi * random.random((200, 200))
    every = Cells.of(table, SPAN, 6)
    exact, _ = looked_up(every, logs, logs, theta)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            few = Cells.of(table, SPAN, 6)
            tasks = [pool.submit(looked_up, few, logs[i : i + 5], logs, theta[i : i + 5]) for i in range(0, 200, 5)]
            found = np.concatenate([task.result()[0] for task in tasks], axis=1)
            inside = ~np.isnan(exact)
            assert np.array_equal(found[1:], exact[1:], equal_nan=True)
            assert np.array_equal(found[0][inside[1]], exact[0][inside[1]])


def test_one_cell_for_functions_that_oscillate(table):
    random = np.random.default_rng(8)
    functions = random.standard_normal((30, 4)) * 0.5 ** np.arange(30)[:, None]
    nothing = Tensor(np.ones((1, 1)), np.zeros((1, 1, 1)))
    panel = nothing, *(Tensor(functions, random.standard_normal((4, 4, 6))) for _ in range(2))
    shared = Table(SPAN, EDGES, (panel, None, panel, panel), 1)
    cells = Cells.undivided(shared)
    assert cells.count == 1
    logs, theta = random.uniform(SPAN.low, SPAN.high, 50), np.pi * random.random((1, 50))
    found, left = looked_up(cells, logs[:1], logs, theta)
    exact = shared(np.full(50, logs[0]), logs, theta[0])
    assert left == np.isnan(exact[1]).sum() > 0
    assert np.allclose(found[1:, 0], exact[1:], rtol=0, atol=1e-12, equal_nan=True)
    assert Cells.undivided(table) is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_signs_scales_and_columns_that_are_left_out(table, sign):
    """Even and odd functions fold at π/2; a row begins where it is told to, with angles from an earlier column on."""
    cells = Cells.of(table, Range(-0.3, 0.8), 2)
    random = np.random.default_rng(6)
    logs, theta = np.sort(random.uniform(-0.3, 0.8, 200)), np.pi * random.random((2, 200))
    plain, _ = looked_up(cells, logs[:2], logs, np.minimum(theta, np.pi - theta))
    side = cells.side(logs)
    scales = random.random((2, 200))
    starts, out = np.array([40, 57]), np.full((2, 2, 200), 7.0)
    out[:, 0, 40:], out[:, 1, 57:] = np.nan, np.nan
    task, after = Task(0, 2, sign), TileAngles(np.ascontiguousarray(theta[:, 32:]), 32, starts)
    both, parts = (np.ascontiguousarray(scales[:, :2]), scales), (slice(0, 2), slice(0, 200))
    look_up(cells, (side, side), parts, both, task, after, TileValues(np.empty((0, 0, 0)), out))
    factor = scales[:, :2, None] * scales[:, None]
    factor *= np.where(theta > np.pi / 2, sign, 1.0)
    for i, start in enumerate(starts):
        assert np.all(out[:, i, :start] == 7.0)
        expected = plain[1:, i, start:] * factor[:, i, start:]
        assert np.allclose(out[:, i, start:], expected, rtol=1e-14, atol=0, equal_nan=True)


def test_a_function_that_happens_to_be_constant_in_the_angle():
    """H of a step and K of the identity are: they are looked up all the same."""
    random = np.random.default_rng(9)
    constant = tensor(random, 1)
    table = Table(SPAN, EDGES, ((tensor(random, 1), constant, tensor(random, 6)),) * 4, 1)
    logs, theta = np.array([0.1, 0.5]), np.array([0.2, 2.0])
    found, _ = looked_up(Cells.of(table, SPAN, 1), logs[:1], logs, theta[None])
    assert np.allclose(found[:, 0], table(np.full(2, 0.1), logs, theta), rtol=0, atol=2e-13)


def test_values_do_not_depend_on_their_neighbours(table):
    """One column alone has the bits that it has among others, also in other panels."""
    cells = Cells.of(table, Range(-0.3, 0.8), 1)
    random = np.random.default_rng(5)
    columns, theta = random.uniform(-0.3, 0.8, 60), np.pi * random.random(60)
    whole, _ = looked_up(cells, np.array([0.2]), columns, theta[None])
    for some in ([3], [59, 0], list(range(7, 40))):
        found, _ = looked_up(cells, np.array([0.2]), columns[some], theta[some][None])
        assert np.array_equal(found, whole[:, :, some], equal_nan=True)


def test_a_single_deviation_has_one_cell():
    point = Range(0.5, 0.5)
    one = Tensor(np.ones((1, 1)), np.array([[[1.0, 0.5, 0.25, 0.1, 0.01]]]))
    table = Table(point, np.array([0.0, np.pi]), ((Tensor(np.ones((1, 1)), np.ones((1, 1, 1))), one),), 1)
    cells = Cells.of(table, point, 7)
    assert cells.count == 1
    logs, theta = np.full(3, 0.5), np.array([0.1, 1.0, 3.0])
    found, left = looked_up(cells, logs[:1], logs, theta[None], 1)
    assert left == 0
    assert np.allclose(found[:, 0], table(logs, logs, theta), rtol=0, atol=1e-14)


def test_parts_of_a_table_share_out_its_panels():
    one = (Tensor(np.eye(1), np.ones((1, 1, 1))),)
    edges = graded_edges(0.1, False)
    table = Table(Range(0.0, 1.0), edges, (one,) * (len(edges) - 1))
    parts = [table.between(low, high) for low, high in ((0.2, 0.4), (0.0, 0.2), (0.4, np.inf))]
    made = [[panel is not None for panel in part.panels] for part in parts]
    assert np.sum(made, axis=0).tolist() == [1] * (len(edges) - 1)
    # From both ends: [0.2, 0.4] and [π - 0.4, π - 0.2].
    assert np.flatnonzero(made[0]).tolist() == [2, len(edges) - 4]
    assert table.between(0.2, 0.4) is parts[0] and table.between(0.0, np.inf) is table
    assert table.between(2.0, 3.0) is None
