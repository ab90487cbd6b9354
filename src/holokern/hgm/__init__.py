"""The holonomic gradient method: it continues the vector F of a Pfaffian system along paths.

:func:`solve` takes a holonomic ideal, an ODE or a Pfaffian system in any number of variables, values and targets.
:func:`frobenius` gives series with logarithms at regular singular points. :func:`connection`, :func:`transition` and
:func:`monodromy` give the matrices between points and along loops.

The parts, which dual activations use too:
A *path* says where the system is solved: :class:`AnglePath` and :class:`SegmentPath` in the deviations and the
angle, :class:`LinePath` in the coordinates of the system, or any object with the methods of :class:`Path`.
:func:`transport` carries F along it in floats by Taylor steps, :func:`transport_balls` in balls that are proved to
contain it, :func:`approach` by collocation up to a singular end, :func:`fit_system` by least squares, and
:func:`integrate` by SciPy's solvers.

Functions for statistics: :func:`orthant`, :func:`fisher_bingham`, :func:`bingham`, :func:`von_mises_fisher`,
:func:`fisher_rotation`, :func:`largest_root`, and :func:`maximum_likelihood` by holonomic gradient descent.
"""

from holokern.hgm.collocation import CONVERGED, approach
from holokern.hgm.distributions.fit import MaximumLikelihood, maximum_likelihood
from holokern.hgm.distributions.orthant import OrthantProbability, orthant
from holokern.hgm.distributions.rotation import RotationConstant, fisher_rotation
from holokern.hgm.distributions.sphere import (
    NormalisingConstant,
    bingham,
    bingham_ideal,
    fisher_bingham,
    fisher_bingham_ideal,
    von_mises_fisher,
)
from holokern.hgm.distributions.wishart import LargestRoot, LargestRootValue, largest_root
from holokern.hgm.least_squares import (
    Basis,
    ChebyshevBasis,
    Constraint,
    Fit,
    FunctionBasis,
    MonomialBasis,
    fit_operator,
    fit_system,
    gauss_nodes,
)
from holokern.hgm.lines.frobenius import LocalBasis, LocalSeries, frobenius
from holokern.hgm.lines.local_sums import Exponent
from holokern.hgm.lines.segments import LinePath, LineTable
from holokern.hgm.monodromy import Transition, connection, monodromy, transition
from holokern.hgm.ordering import clusters, length_of, order_of, resampled
from holokern.hgm.polar.half_angle import HalfAngleTable
from holokern.hgm.polar.near_end import NearEnd
from holokern.hgm.polar.path import AnglePath, SegmentPath
from holokern.hgm.polar.tables import PolarTable, polar_table
from holokern.hgm.scipy_solver import integrate, solve_along
from holokern.hgm.solve import Solution, solve
from holokern.hgm.steps.balls import transport_balls
from holokern.hgm.steps.fixed_point import BallRow
from holokern.hgm.steps.series import Array as Numbers
from holokern.hgm.steps.series import Path, SeriesEquation
from holokern.hgm.steps.stepper import TAYLOR_TERMS, Arrival, transport

__all__ = [
    "CONVERGED",
    "TAYLOR_TERMS",
    "AnglePath",
    "Arrival",
    "BallRow",
    "Basis",
    "ChebyshevBasis",
    "Constraint",
    "Exponent",
    "Fit",
    "FunctionBasis",
    "HalfAngleTable",
    "LargestRoot",
    "LargestRootValue",
    "LinePath",
    "LineTable",
    "LocalBasis",
    "LocalSeries",
    "MaximumLikelihood",
    "MonomialBasis",
    "NearEnd",
    "NormalisingConstant",
    "Numbers",
    "OrthantProbability",
    "Path",
    "PolarTable",
    "RotationConstant",
    "SegmentPath",
    "SeriesEquation",
    "Solution",
    "Transition",
    "approach",
    "bingham",
    "bingham_ideal",
    "clusters",
    "connection",
    "fisher_bingham",
    "fisher_bingham_ideal",
    "fisher_rotation",
    "fit_operator",
    "fit_system",
    "frobenius",
    "gauss_nodes",
    "integrate",
    "largest_root",
    "length_of",
    "maximum_likelihood",
    "monodromy",
    "order_of",
    "orthant",
    "polar_table",
    "resampled",
    "solve",
    "solve_along",
    "transition",
    "transport",
    "transport_balls",
    "von_mises_fisher",
]
