import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from holokern import __version__, pfaffian
from holokern.cli import main
from holokern.errors import BadInput
from holokern.pfaffian.archive import from_json


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.delenv("HOLOKERN_CACHE_DIR", raising=False)

    def invoke(*arguments):
        return CliRunner().invoke(main, list(arguments))

    return invoke


def _one_line_of_error(result, *words, code=1):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("holokern: error: ")
    for word in words:
        assert word in line


def test_help_and_version(run):
    help_text = run("--help")
    assert help_text.exit_code == 0
    assert "holokern derive relu" in help_text.stdout
    for command in main.commands:
        shown = run(command, "-h").stdout
        assert f"\n    holokern {command}" in shown, "examples keep their lines"
    assert run("--version").stdout.startswith("holokern, version ")


def test_derive_prints_the_whole_system(run):
    result = run("derive", "relu", "--coordinates", "x", "--basis", "1, d12")
    assert result.exit_code == 0
    assert result.stderr == ""
    for part in (
        "annihilator     u*D - 1",
        "rank            2",
        "1, d12",
        "-5*x12/(x12^2 - x11*x22)",
        "singular locus",
    ):
        assert part in result.stdout


def test_derive_by_operators(run):
    result = run("derive", "--operator", "u*D - 1", "--operator", "D^2", "--no-cache")
    assert result.exit_code == 0
    assert "rank            1" in result.stdout
    mixed = run("derive", "--operator", "u*D", "--other-operator", "D^2 + 1", "--no-cache")
    assert "of the other    D^2 + 1" in mixed.stdout


def test_derive_json_is_complete_and_reads_back(run):
    result = run("derive", "step", "--json")
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert record["rank"] == 2
    assert record["basis"] == ["1", "a*b"]
    assert record["matrices"]["S12"][0] == ["0", "1"]
    assert {"factor": "S12^2 - S11*S22", "multiplicity": 1} in record["singular_locus"]
    system = from_json(json.dumps(record["archive"]))
    assert system == pfaffian("step", cache=False)


def test_derive_latex(run):
    result = run("derive", "relu", "--latex")
    assert result.exit_code == 0
    assert result.stdout.count("\\[") == result.stdout.count("\\]") == 3
    assert r"u \partial_{u} - 1" in result.stdout
    assert r"\Sigma_{12}" in result.stdout


def test_parameters_and_two_activations(run):
    result = run("derive", "leaky_relu", "--param", "slope=0.2", "--other", "elu", "--other-param", "alpha=1")
    assert result.exit_code == 0, result.output
    assert "σ1(u)σ2(v)" in result.stdout
    polynomial = run("derive", "polynomial", "-p", "coefficients=1,0,1/2")
    assert polynomial.exit_code == 0, polynomial.output
    minus = run("derive", "--", "-u*exp(-u^2)")
    assert minus.exit_code == 0, minus.output


def test_the_cache_is_used_unless_it_is_off(run, tmp_path):
    run("derive", "step", "--no-cache")
    assert not (tmp_path / "cache").exists()
    run("derive", "step", "--cache-dir", str(tmp_path / "named"))
    assert len(list((tmp_path / "named").iterdir())) == 1
    assert not (tmp_path / "cache").exists()
    run("derive", "step")
    assert len(list((tmp_path / "cache" / "holokern").iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rellu"], ["rellu"]),
        (["u +* 2"], []),
        (["__import__('os').system('x')"], []),
        (["x + 1"], []),
        (["("], []),
        (["u" * 50_000], []),
        (["elu", "-p", "alpha=nan"], ["alpha"]),
        (["elu", "-p", "beta=1"], ["beta"]),
        (["--operator", "u*Dx"], ["Dx"]),
        (["relu", "--basis", "1, q"], ["q"]),
        (["relu", "--basis", "1, a"], ["odd"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_words_that_cannot_be_read_are_one_line_and_exit_code_2(run, arguments, words):
    _one_line_of_error(run("derive", *arguments), *words, code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tanh"], ["tanh", "quadrature"]),
        (["--operator", "0"], ["operator 0"]),
        (["relu", "--cache-dir", "/dev/null/below"], ["/dev/null/below"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_1(run, arguments, words):
    _one_line_of_error(run("derive", *arguments), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("derive", ["EXPR", "--operator"]),
        ("derive relu --coordinates theta", ["--coordinates"]),
        ("derive relu --nonsense", ["--nonsense"]),
        ("derive relu extra", ["extra"]),
        ("derive elu -p alpha", ["NAME=VALUE"]),
        ("derive elu -p alpha=1 -p alpha=2", ["twice"]),
        ("derive relu --operator u*D", ["not both"]),
        ("derive --operator u*D -p alpha=1", ["parameters"]),
        ("derive relu --no-cache --cache-dir x", ["not both"]),
        ("dual relu --c1 1 --r 0", ["--c2"]),
        ("dual relu --c1 1 --c2 1", ["--r", "--theta"]),
        ("dual relu --c1 -1 --c2 1 --r 0", ["--c1", "standard deviation"]),
        ("dual relu --c1 1 --c2 1 --r 2", ["--r", "correlation"]),
        ("dual relu --c1 1 --c2 1 --theta 4", ["--theta", "angle"]),
        ("dual relu --c1 1 --c2 1 --r 0 --method nothing", ["--method", "quadrature"]),
        ("dual relu --c1 1 --c2 1 --r 0 --tolerance 2", ["--tolerance"]),
        ("kernel pyproject.toml -a relu", ["--output"]),
        ("kernel pyproject.toml -a relu -o k.txt", ["--output", ".npy"]),
        ("kernel pyproject.toml -a relu -o k.npy -d 0", ["--depth"]),
        ("kernel pyproject.toml -a relu -o k.npy --bias -1", ["--bias", "standard deviation"]),
        ("kernel pyproject.toml -a relu -o k.npy --bias nan", ["--bias"]),
        ("kernel pyproject.toml -a relu -o k.npy --weight-variance 0", ["--weight-variance", "positive"]),
        ("kernel missing.npy -a relu -o k.npy", ["DATA", "does not exist"]),
        ("report", ["EXPR"]),
        ("report relu -o .", ["--output"]),
        ("report relu -o ''", ["--output", "empty"]),
        ("paper --only nothing", ["--only", "derivations"]),
        ("deriv", ["deriv"]),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run, monkeypatch, arguments, words):
    monkeypatch.chdir(Path(__file__).parents[2])  # any file will do as data
    _one_line_of_error(run(*shlex.split(arguments)), *words, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        "derive tanh",
        "derive 'sin(sqrt(2)*u) + sin(u)'",
        "derive polynomial",
        "derive relu --cache-dir ''",
        "derive relux",
        "derive 'D*u'",
        "dual tanh --c1 1 --c2 1 --r 0 --method closed",
        "dual tanh --c1 1 --c2 1 --r 0 --method hgm",
        "dual tanh --c1 1 --c2 1 --r 0 --closed-form",
        "dual relu --c1 1e300 --c2 1e300 --r 1/2",
        "dual relu --c1 1 --c2 1",
        "report relu_k -p k=x -o x.html",
        "report 'u + w' -o x.html",
    ],
)
def test_messages_speak_of_options_and_commands_not_of_python(run, arguments):
    result = run(*shlex.split(arguments))
    assert result.exit_code in (1, 2)
    assert not re.search(r"\bhk\.|\b(method|cache|operator|r|theta|check)=|\w\(\)|None|Traceback", result.stderr), (
        result.stderr
    )


def test_warnings_of_libraries_stay_inside(run, monkeypatch):
    def warned(*_, **__):
        warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)
        raise BadInput("that is all")

    monkeypatch.setattr(sys.modules["holokern.pfaffian"], "pfaffian", warned)
    _one_line_of_error(run("derive", "--operator", "u*D"), "that is all", code=2)


def test_too_little_memory_is_one_line(run, monkeypatch):
    def hungry(*_, **__):
        raise MemoryError

    monkeypatch.setattr(sys.modules["holokern.pfaffian"], "pfaffian", hungry)
    _one_line_of_error(run("derive", "--operator", "u*D"), "memory")


def test_the_module_is_the_command():
    for argument, word in (("--version", "holokern, version "), ("activations", "gelu")):
        done = subprocess.run(
            [sys.executable, "-m", "holokern", argument], capture_output=True, text=True, timeout=60, check=True
        )
        assert word in done.stdout
        assert done.stderr == ""
    usage = subprocess.run(
        [sys.executable, "-m", "holokern", "nothing"], capture_output=True, text=True, timeout=60, check=False
    )
    assert usage.returncode == 2
    assert usage.stderr.startswith("holokern: error: ")


def test_the_wheel_takes_all_of_src_and_the_program_is_in_it():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    present = {f"src/{path.name}" for path in (root / "src").iterdir() if path.name != "__pycache__"}
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]) == present
    module, _, name = project["project"]["scripts"]["holokern"].partition(":")
    assert f"src/{module}.py" in present
    assert callable(getattr(importlib.import_module(module), name))


def test_activations_are_listed(run):
    result = run("activations")
    assert result.exit_code == 0
    assert "elu(alpha=1)" in result.stdout
    names = [entry["name"] for entry in json.loads(run("activations", "--json").stdout)]
    assert {"relu", "gelu", "step", "sigmoid"} <= set(names)
    assert names == sorted(names)


def test_an_interrupt_is_one_line_and_has_its_own_exit_code(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["holokern.pfaffian"], "pfaffian", interrupted)
    result = run("derive", "--operator", "u*D")
    assert result.exit_code == 130
    assert result.stderr.strip() == "holokern: interrupted; nothing half-written is left"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_control_c_in_a_real_process_leaves_nothing_behind(tmp_path):
    """The signal arrives while the cache file is being written."""
    program = textwrap.dedent("""
        import os, pathlib, signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the suite runs in the background
        def interrupted(self, target):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        pathlib.Path.replace = interrupted
        from holokern.cli import main
        main(["derive", "--operator", "u*D", "--cache-dir", sys.argv[1]])
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "holokern: interrupted; nothing half-written is left"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_command_started_in_the_background_ignores_control_c_as_its_shell_asked():
    """A shell starts ``holokern ... &`` with SIGINT ignored, so that Ctrl-C ends the foreground alone."""
    program = textwrap.dedent("""
        import os, signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from holokern.cli import activations, main
        work = activations.callback
        def interrupted(*given, **options):
            os.kill(os.getpid(), signal.SIGINT)
            work(*given, **options)
        activations.callback = interrupted
        main(["activations"])
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "gelu" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("moment", "handler", "code"),
    [
        ("holokern", "default_int_handler", 130),
        ("numpy", "default_int_handler", 130),
        ("holokern.cli", "default_int_handler", 130),
        ("numpy", "SIG_IGN", 0),
    ],
)
def test_control_c_while_python_imports_is_one_line(moment, handler, code):
    """The signal arrives when a module is about to be imported; in the background it stays ignored."""
    program = textwrap.dedent("""
        import os, signal, sys
        signal.signal(signal.SIGINT, getattr(signal, sys.argv[2]))
        class Interrupt:
            def find_spec(name, *_):
                if name == moment:
                    os.kill(os.getpid(), signal.SIGINT)
        moment = sys.argv[1]
        sys.meta_path.insert(0, Interrupt)
        sys.argv = ["holokern", "--version"]
        from holokern_command import main
        main()
    """)
    command = [sys.executable, "-c", program, moment, handler]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr.strip() == ("holokern: interrupted; nothing half-written is left" if code else "")
    assert done.stdout == ("" if code else f"holokern, version {__version__}\n")


def _completions(words, monkeypatch):
    """What the shell would be offered for the last word."""
    monkeypatch.setenv("_HOLOKERN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    result = CliRunner().invoke(main, [], prog_name="holokern")
    assert result.exit_code == 0, result.output
    return [line.split(",", 1)[1] for line in result.stdout.splitlines()]


def test_completion_knows_commands_activations_parameters_and_methods(monkeypatch):
    assert _completions(["holokern", "re"], monkeypatch) == ["report"]
    assert {"relu", "relu6", "resin"} <= set(_completions(["holokern", "derive", "re"], monkeypatch))
    assert _completions(["holokern", "report", "elu", "-p", "a"], monkeypatch) == ["alpha="]
    assert _completions(["holokern", "dual", "relu", "--method", "h"], monkeypatch) == ["hermite", "hgm", "hie"]
    assert _completions(["holokern", "dual", "u^2+", "--method", "au"], monkeypatch) == ["auto"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(shell, monkeypatch):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    monkeypatch.setenv("_HOLOKERN_COMPLETE", f"{shell}_source")
    result = CliRunner().invoke(main, [], prog_name="holokern")
    assert result.exit_code == 0
    assert f"_HOLOKERN_COMPLETE={shell}_complete" in result.output


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_closed_pipe_is_no_error_message():
    command = (
        f"{sys.executable} -c 'from holokern.cli import main; main()' derive --operator 'u*(D^3-D^2)' --no-cache --json"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} | head -c 10"], capture_output=True, text=True, timeout=60, check=False
    )
    assert len(done.stdout) == 10
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
