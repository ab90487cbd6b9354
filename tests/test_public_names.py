"""What ``hk.<TAB>`` shows: every public name, and nothing else."""

import subprocess
import sys

import holokern as hk


def test_the_tab_key_shows_every_public_name_and_nothing_else():
    """In a new process: names that are imported later must be there before they were asked for."""
    code = "import holokern as hk; print(*dir(hk)); print(*sorted(hk.__all__))"
    shown, public = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert shown == public
    assert {"Network", "NTKRegressor", "NTKClassifier", "NNGPRegressor", "activation", "dual"} <= set(shown.split())
    assert not {"Any", "TYPE_CHECKING", "_LATER", "cli", "syntax", "numeric"} & set(shown.split())


def test_every_name_that_is_shown_exists():
    for name in dir(hk):
        assert getattr(hk, name) is not None
