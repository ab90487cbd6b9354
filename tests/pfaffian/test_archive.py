import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from holokern.activation.values.constant_values import function_value
from holokern.activation.values.constants import exact, named_constant
from holokern.errors import ArchiveError
from holokern.pfaffian.archive import from_json, to_json
from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import derive, read_operators


def _derived(operator, coordinates="sigma", other=None):
    left = read_operators(operator)
    return derive(left, read_operators(other) if other else left, COORDINATES[coordinates])


@pytest.fixture(scope="module")
def step():
    return _derived("u*D", "x")


@pytest.mark.parametrize(
    ("operator", "coordinates", "other"),
    [
        ("u*D - 1", "sigma", None),
        ("u*(D^2 + 1)", "x", None),
        ("u*D - 1", "sigma", "D^2 + 2*u*D"),
        (["u*D - 1", "D^2"], "x", "D + u/3"),
        ("u*(D^3 - D^2)", "sigma", None),
    ],
)
def test_round_trips_are_exact(operator, coordinates, other):
    system = _derived(operator, coordinates, other)
    again = from_json(to_json(system))
    assert again == system
    assert hash(again) == hash(system)
    assert to_json(again) == to_json(system)


def test_scales_and_frames_round_trip(step):
    root = exact(2).to_power(Fraction(1, 2)) * Fraction(3, 7) + named_constant("pi")
    opaque = function_value("erf", exact(Fraction(1, 2)))
    scaled = replace(step, scale=(root, opaque))
    assert from_json(to_json(scaled)) == scaled
    rational = replace(step, scale=(Fraction(2, 3), exact(5)))
    assert from_json(to_json(rational)).scale == (Fraction(2, 3), 5)
    gauged = step.gauge([["x12", 1], ["1/(x11 + 2)", 0]])
    assert from_json(to_json(gauged)) == gauged


def _forged(system, **changes):
    """A record with other content and a digest that fits it."""
    record = json.loads(to_json(system))
    content = {key: value for key, value in record.items() if key not in ("format", "version", "digest")}
    content.update(changes)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({"format": record["format"], "version": record["version"], "digest": digest, **content})


@pytest.mark.parametrize(
    "changes",
    [
        {"coordinates": "theta"},
        {"variables": ["x", "y", "z"]},
        {"basis": [[0, 0, 0]]},
        {"basis": [[0, 0, 0], [0, -1, 0]]},
        {"basis": [[0, 0, 0], [0, True, 0]]},
        {"matrices": []},
        {"matrices": 7},
        {"polynomials": []},
        {"polynomials": [[["1", [0, 0]]]] * 20},
        {"polynomials": [[]] * 20},
        {"polynomials": [[["one", [0, 0, 0]]]] * 20},
        {"annihilators": [["__import__('os')"], ["u*D"]]},
        {"annihilators": []},
        {"scale": ["x", "1"]},
        {"scale": [[["1", [[[], "1"]]]], "1"]},
        {"frame": [[]]},
    ],
    ids=str,
)
def test_records_with_a_good_digest_and_bad_content_are_refused(step, changes):
    with pytest.raises(ArchiveError, match="damaged"):
        from_json(_forged(step, **changes))


def test_a_forged_record_with_the_same_content_is_read(step):
    assert from_json(_forged(step)) == step


def test_damaged_and_foreign_texts_are_refused(step):
    good = to_json(step)
    with pytest.raises(ArchiveError, match="damaged"):
        from_json(good.replace('"-3"', '"-2"').replace('["3"', '["4"'))
    with pytest.raises(ArchiveError, match="not JSON"):
        from_json(good[:-20])
    with pytest.raises(ArchiveError, match="not JSON"):
        from_json("[" * 100_000)
    with pytest.raises(ArchiveError, match="version 99"):
        from_json(good.replace('"version": 1', '"version": 99'))
    for foreign in ("{}", "[]", "3", '{"format": "something else"}'):
        with pytest.raises(ArchiveError, match="not a Pfaffian system"):
            from_json(foreign)
    with pytest.raises(ArchiveError, match="expected JSON text"):
        from_json(None)
