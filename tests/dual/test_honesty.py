"""Reported errors against true ones at the reference points: never below a fifth, rarely above a thousand times."""

import numpy as np
import pytest

from holokern.dual import dual
from holokern.errors import PrecisionLost, Unsupported

EPS = np.finfo(float).eps
# methods, the largest true error that is accepted, the share of points whose error is reported much too large, and
# which of the activations: all, or every third
METHODS = [
    ("auto", 1e-13, 0.02, 1),
    ("closed", 1e-13, 0.02, 1),
    ("quadrature", 1e-13, 0.02, 1),
    ("hermite", 1e-13, 0.02, 1),
    # the baseline settles to its own tolerance only, and says so much too cautiously where σ is smooth
    ("gauss_hermite", 1.0, 0.1, 3),
    pytest.param("gauss_hermite", 1.0, 0.1, 1, marks=pytest.mark.slow),
    pytest.param("hgm", 1e-11, 0.02, 1, marks=pytest.mark.slow),
    pytest.param("hie", 1e-11, 0.02, 1, marks=pytest.mark.slow),
    pytest.param("taylor", 1e-11, 0.03, 1, marks=pytest.mark.slow),
    # one path through very different deviations multiplies errors
    pytest.param("all_at_once", 1e-5, 0.02, 1, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("method", "accepted", "share", "every"), METHODS)
def test_errors_at_the_reference_points(references, method, accepted, share, every):
    count = cautious = 0
    for case in list(references.values())[::every]:
        try:
            v = dual(case.source, case.c1, case.c2, theta=case.theta, method=method)
        except (Unsupported, PrecisionLost) as reason:
            assert "method" in str(reason)
            continue
        for found, want, estimate in ((v.k, case.k, v.error), (v.kdot, case.kdot, v.kdot_error)):
            known = np.isfinite(want) & np.isfinite(estimate)
            true = np.abs(found - want)[known]
            reported, size = estimate[known], np.abs(want[known])
            # c1, c2 and θ are the floats next to the rational numbers of the reference
            assert np.all(true <= 5 * reported + 2 * EPS * size), case.source
            assert np.all(true <= accepted * np.maximum(1, size)), case.source
            count += len(true)
            cautious += int(np.sum(reported > 1000 * np.maximum(true, EPS * size)))
    assert count * every > 100
    assert cautious <= share * count
