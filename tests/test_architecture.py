"""The one-way flow: a folder imports only from folders before it; everything cited is in references.bib."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "holokern"

# Reading order is execution order.  Single files before the first folder serve everyone.
FLOW = [
    "errors",
    "later",
    "syntax",
    "files",
    "cache",
    "progress",
    "numeric",
    "weyl",
    "activation",
    "pfaffian",
    "hgm",
    "dual",
    "network",
    "model",
    "gpytorch",
    "paper",
    "report",
    "cli",
]
SOURCES = sorted(PACKAGE.rglob("*.py"))
CITATION = re.compile(r"\[([A-Z][A-Za-z]+\d{4})(?:[,\]])")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes(source: str) -> list[ast.Import | ast.ImportFrom | ast.Call]:
    """The imports and the calls in a file, which several tests look at."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def imported_rooms(source: str, folders: tuple[str, ...]) -> set[str]:
    """Rooms imported anywhere in a file of these folders, lazily or not, absolutely or relatively."""
    package = ["holokern", *folders]
    found: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("holokern.")}
    return found


def test_imports_only_go_backwards() -> None:
    known = {room(path) for path in SOURCES}
    for path in SOURCES:
        own = room(path)
        if own in {"__init__", "__main__"}:
            continue
        assert own in FLOW, f"{own} has no place in the flow"
        rooms = imported_rooms(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).parts[:-1]) & known
        forward = {name for name in rooms if FLOW.index(name) > FLOW.index(own)}
        assert not forward, f"{path} imports from {sorted(forward)}, which come after {own}"


@pytest.mark.parametrize(
    "line",
    [
        "from holokern.pfaffian import pfaffian",
        "import holokern.pfaffian.system",
        "from holokern import pfaffian",
        "from ..pfaffian import pfaffian",
        "from .. import pfaffian",
        "def f():\n    from holokern.pfaffian.derive import pfaffian",
    ],
)
def test_the_flow_check_sees_every_kind_of_import(line: str) -> None:
    assert imported_rooms(line, ("weyl",)) == {"pfaffian"}


def folder_imports(source: str, folders: tuple[str, ...]) -> set[tuple[str, str]]:
    """Pairs (module, name) imported from other folders of the package, ("x.y", "") for a plain ``import``."""
    package = ["holokern", *folders]
    found: set[tuple[str, str]] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            pairs = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            pairs = [(module, alias.name) for alias in node.names]
        else:
            continue
        found |= {(module.removeprefix("holokern."), name) for module, name in pairs if module.startswith("holokern.")}
    return {
        (module, name)
        for module, name in found
        if (PACKAGE / module.split(".")[0]).is_dir() and module.split(".")[0] != (folders or ("",))[0]
    }


@cache
def public_names(folder: str) -> set[str]:
    """The names in ``__all__`` of the folder's ``__init__``."""
    for node in ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


@cache
def private_imports() -> dict[tuple[str, str], list[str]]:
    """For every border (later folder, earlier folder) what is imported past the public names."""
    borders: dict[tuple[str, str], list[str]] = {}
    for path in SOURCES:
        parts = path.relative_to(PACKAGE).parts
        for module, name in folder_imports(path.read_text(encoding="utf-8"), parts[:-1]):
            folder = module.split(".")[0]
            wrong = borders.setdefault((room(path), folder), [])
            if module != folder or name not in public_names(folder):
                wrong.append(f"{'/'.join(parts)} imports {module}.{name}")
    return borders


def test_later_folders_import_public_names_only() -> None:
    wrong = {border: found for border, found in private_imports().items() if found}
    assert not wrong, f"import from the folder, and add the name to its __all__ if it is missing: {wrong}"


def test_trees_and_rings_stay_in_their_folder() -> None:
    """``activation`` gives others its noun and what its pieces are made of, no expression trees and no rings."""
    source = (PACKAGE / "activation" / "__init__.py").read_text(encoding="utf-8")
    modules = {node.module or "" for node in nodes(source) if isinstance(node, ast.ImportFrom)}
    inner = {
        module for module in modules if module.startswith(("holokern.activation.tree", "holokern.activation.ring"))
    }
    assert not inner, f"the public names of activation come from {sorted(inner)}"


@pytest.mark.parametrize("folder", ["network", "model"])
def test_networks_and_models_take_only_public_names_of_dual(folder: str) -> None:
    """``from holokern.dual import DualActivation``."""
    assert private_imports().get((folder, "dual"), []) == []


def test_networks_know_the_noun_of_dual() -> None:
    imports = {
        pair
        for path in (PACKAGE / "network").rglob("*.py")
        for pair in folder_imports(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).parts[:-1])
    }
    assert ("dual", "DualActivation") in imports


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from holokern.pfaffian import pfaffian", {("pfaffian", "pfaffian")}),
        ("from holokern.pfaffian.derive import pfaffian", {("pfaffian.derive", "pfaffian")}),
        ("import holokern.pfaffian.system", {("pfaffian.system", "")}),
        ("from ..pfaffian.derive import pfaffian", {("pfaffian.derive", "pfaffian")}),
        ("from holokern.weyl.modules.ideal import LeftIdeal", set()),
        ("from holokern.errors import BadInput", set()),
    ],
)
def test_the_border_check_sees_every_kind_of_import(line: str, found: set[tuple[str, str]]) -> None:
    assert folder_imports(line, ("weyl",)) == found


def test_every_citation_is_in_the_bibliography() -> None:
    keys = set(re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text(encoding="utf-8")))
    cited = {key: path for path in SOURCES for key in CITATION.findall(path.read_text(encoding="utf-8"))}
    assert "KoyamaTakemura2013" in cited
    assert cited.keys() <= keys, f"not in references.bib: {[(key, cited[key]) for key in cited.keys() - keys]}"


# Folders in which every private constant says why it has its value; add the others as they come to do so.
EXPLAINED = ["weyl", "pfaffian", "hgm", "paper", "report", "cli",
             *(f"activation/{part}" for part in ("foreign", "pieces", "ring", "tree", "values")),
             *(f"dual/{family}" for family in ("closed", "enclosure", "hermite", "methods", "quadrature"))]  # fmt: skip
CONSTANT = re.compile(r"_[A-Z0-9_]+(, _[A-Z0-9_]+)*(: [^=]+)? = ")


@pytest.mark.parametrize("folder", EXPLAINED)
def test_every_private_constant_says_why(folder: str) -> None:
    """A comment above or beside it, or a string below."""
    silent = []
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        lines = ["", *path.read_text(encoding="utf-8").splitlines(), ""]
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
            if CONSTANT.match(line) and not (before.startswith("#") or "  # " in line or after.startswith('"""')):
                silent.append(f"{path.name}: {line[:60]}")
    assert not silent, "\n".join(silent)


def test_no_text_is_ever_executed() -> None:
    forbidden = {"eval", "exec", "sympify", "parse_expr", "compile"}
    for path in SOURCES:
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                dangerous = name in forbidden and not (name == "compile" and isinstance(node.func, ast.Attribute))
                assert not dangerous, f"{path}:{node.lineno} calls {name}"


def test_import_is_light() -> None:
    """Importing holokern must not pull in the slow packages; they are imported where they are used."""
    code = "import sys, holokern; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sympy", "matplotlib", "scipy", "sklearn", "numba", "jax", "torch", "dask"} & set(loaded)
