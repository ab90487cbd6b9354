"""The process that test_watchdog.py watches: points come in as JSON, answers go out one line each."""

import json
import resource
import signal
import sys
import time
from fractions import Fraction

import numpy as np

import holokern as hk
from holokern.errors import BadInput, HolokernError, PrecisionLost, Unsupported


class TooLong(BaseException):
    """Not an Exception, so that nothing but this file catches it."""


def _stop(*_):
    raise TooLong


def limited(seconds, call):
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def truth(seconds, expression, c1, c2, r):
    """The middles and radii of balls of k and k′, None where there are none after so many seconds."""
    try:
        exact = limited(seconds, lambda: hk.enclose(expression, c1, c2, r, digits=25))
        return [(float(ball.mid()), float(ball.rad())) for ball in exact]
    except (HolokernError, TooLong, SystemError, OverflowError):
        return None


def ratio(found, error, true, scale):
    """The true error in reported ones; rounding of the input counts as part of the error."""
    value, radius = true
    if not np.isfinite(value) or not np.isfinite(found):
        return 0.0 if found == value else None
    off = max(abs(found - value) - radius - scale, 0.0)
    return float(off / error) if error > 0 else (0.0 if off == 0 else float("inf"))


def answer(point, patience, seconds):
    expression, *numbers = point
    c1, c2, r = (Fraction(text) for text in numbers)
    begin = time.process_time()
    try:
        value = limited(patience, lambda: hk.dual(expression, float(c1), float(c2), float(r)))
    except (PrecisionLost, BadInput, Unsupported) as refusal:
        return {"kind": "refused", "reason": str(refusal), "seconds": time.process_time() - begin}
    except TooLong:
        return {"kind": "other", "reason": f"took more than {patience} seconds"}
    except Exception as error:
        return {"kind": "other", "reason": f"{type(error).__name__}: {error}"}
    seconds_of_dual = time.process_time() - begin
    # the floats that dual was given, exactly
    true = truth(seconds, expression, *(Fraction(float(x)) for x in (c1, c2, r)))
    if true is None:
        return {"kind": "unknown", "seconds": seconds_of_dual}
    rows = zip((value.k, value.kdot), (value.error, value.kdot_error), true, strict=True)
    k, kdot = (
        {"found": found, "error": error, "true": one[0], "ratio": ratio(found, error, one, 4e-16 * abs(one[0]))}
        for found, error, one in rows
    )
    return {"kind": "value", "k": k, "kdot": kdot, "seconds": seconds_of_dual}


def main():
    job = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    with open(job["answers"], "w", encoding="utf-8") as stream:  # noqa: PTH123 (a name from another process)
        for point in job["points"]:
            stream.write(json.dumps({"point": point, **answer(point, job["patience"], job["truth"])}) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
