"""The ground floor, which knows no activation: Gauss rules, panels, Chebyshev tables, angles, machine code.

The folder ``machine`` is imported when it is asked for, ``from holokern.numeric import machine``.
"""

from holokern.numeric.arcs import ARCSINE
from holokern.numeric.blas import one_thread
from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_matrix, chebyshev_nodes, left_singular
from holokern.numeric.error_free import two_product, two_sum
from holokern.numeric.exact import Dependence, natural_roots, nullspace, subtract, to_ball, to_fmpq, to_fraction
from holokern.numeric.fit import fit_angles, graded_edges, narrowed
from holokern.numeric.gauss import hermite_rule, legendre_rule
from holokern.numeric.lifting import Lifted, Lifting
from holokern.numeric.panels import EPS, AnyArray, Array, Index, Panels, Some, between
from holokern.numeric.precision import series_length, working_precision
from holokern.numeric.table import (
    MANY_TERMS,
    Range,
    Series,
    Table,
    Tensor,
    compressed_together,
)
from holokern.numeric.unit_vectors import rounding_of_lengths, small_angles, unit_vectors
from holokern.numeric.work import bounded, charge, cost, how_many_fit, limited_work, limits, patience, units_left

__all__ = [
    "ARCSINE",
    "EPS",
    "MANY_TERMS",
    "AnyArray",
    "Array",
    "Dependence",
    "Index",
    "Lifted",
    "Lifting",
    "Panels",
    "Range",
    "Series",
    "Some",
    "Table",
    "Tensor",
    "between",
    "bounded",
    "charge",
    "chebyshev_basis",
    "chebyshev_matrix",
    "chebyshev_nodes",
    "compressed_together",
    "cost",
    "fit_angles",
    "graded_edges",
    "hermite_rule",
    "how_many_fit",
    "left_singular",
    "legendre_rule",
    "limited_work",
    "limits",
    "machine",
    "narrowed",
    "natural_roots",
    "nullspace",
    "one_thread",
    "patience",
    "rounding_of_lengths",
    "series_length",
    "small_angles",
    "subtract",
    "to_ball",
    "to_fmpq",
    "to_fraction",
    "two_product",
    "two_sum",
    "unit_vectors",
    "units_left",
    "working_precision",
]
