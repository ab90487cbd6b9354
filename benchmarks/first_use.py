"""The first call and the calls after it, on data whose norms vary: ours beside numpy's ReLU closed form.

Every case runs in a new process, one core, CPU time. The machine code is compiled before. The cache of tables is an
empty folder for the first call, and the same folder for three second processes: the least first call and the least of
the later ones count. A case is stopped after a minute of CPU time. Memory of the size of the results is touched before:
a virtual machine takes a quarter of a second to hand it out for the first time, whoever asks.

    python benchmarks/first_use.py --json benchmarks/results/first_use.json --images /usr/share/datasets/fashion-mnist
    python benchmarks/first_use.py --quick          # three activations only
    python benchmarks/first_use.py --only tanh elu --data "norms 2 to 20"          # some lines only

``--images`` adds lines for 3000 images of Fashion-MNIST: pixels between 0 and 1, with norms from 2 to 20 and small
angles, and pixels between 0 and 255, as they come, with norms from 500 to 6000. Lines of an earlier run that are not
measured again stay in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holokern.files import write_atomically

SMOOTH = (
    *("gelu", "gelu_paper", "gelu_tanh", "erf", "gaussian", "rbf", "sin", "cos"),
    *("snake", "sigmoid", "tanh", "silu", "softplus", "mish", "logsigmoid"),
)
KINKED = ("elu", "celu", "selu", "resin", "softsign")
AWAY = ("Heaviside(u-1)*(u-1)*exp(-u)+tanh(u)", "tanh(u)+Abs(u-1)*exp(-u^2)")
RANGES = {"norms 2 to 20": (2.0, 20.0), "norms 0.1 to 100": (0.1, 100.0)}
SIZE, DIMENSION = 3000, 64
IMAGES = {"Fashion-MNIST": 1.0, "Fashion-MNIST, pixels to 255": 255.0}
LONGEST = 60
"""CPU seconds of a case."""

_PROCESSES = 3
"""Second processes: what else the machine does changes the ratio of two calls by a fifth."""


def points(size: int, low: float, high: float):  # type: ignore[no-untyped-def]
    """Random directions with norms spread evenly in their logarithm."""
    import numpy as np

    random = np.random.default_rng(0)
    x = random.standard_normal((size, DIMENSION))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * np.exp(random.uniform(np.log(low), np.log(high), (size, 1)))


def closed_form_of_relu(x, depth: int, bias: float):  # type: ignore[no-untyped-def]
    """NNGP and NTK by numpy, as anybody would write them."""
    import numpy as np

    sigma = x @ x.T + bias**2
    theta = sigma.copy()
    for _ in range(depth):
        c = np.sqrt(np.diag(sigma))
        scale = np.multiply.outer(c, c)
        angle = np.arccos(np.clip(sigma / scale, -1, 1))
        slope = (np.pi - angle) / np.pi
        sigma = scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi + bias**2
        theta = theta * slope + sigma
    return sigma, theta


def measure(case: dict[str, object]) -> dict[str, float]:
    """One case, in this process: seconds of the first and of later calls."""
    import numpy as np

    if "images" in case:
        from images import load

        pixels = load("fashion", Path(str(case["images"])), SIZE, 0)["x"].reshape(SIZE, -1)
        x = pixels * (float(case["largest"]) / np.max(pixels))  # type: ignore[arg-type]
    else:
        low, high = case["range"]  # type: ignore[misc]
        x = points(int(case["size"]), low, high)  # type: ignore[call-overload]
    touched = [np.full((len(x), len(x)), 1.0) for _ in range(2)]
    del touched
    if case["activation"] == "numpy":
        closed_form_of_relu(x[:100], 3, 0.1)
        times = []
        for _ in range(3):
            start = time.process_time()
            closed_form_of_relu(x, 3, 0.1)
            times.append(time.process_time() - start)
        return {"first": min(times), "again": min(times)}
    import holokern as hk
    from holokern.network import Network

    # The machine code comes from its own cache on disk; loading it is not what is measured here.
    for engine in ("layers", "network"):
        Network("relu", depth=1, bias=0.1).both(np.eye(70), engine=engine, threads=1)
    if str(case["activation"]) in AWAY:
        Network("erf(u) + Abs(u-1)*exp(-u)", depth=1).both(np.eye(4), engine="pairs", threads=1)
    start = time.process_time()
    net = hk.Network(case["activation"], depth=int(case["depth"]), bias=0.1)  # type: ignore[call-overload]
    net.both(x, threads=1)
    first = time.process_time() - start
    times = []
    for _ in range(3):
        start = time.process_time()
        net.both(x, threads=1)
        times.append(time.process_time() - start)
    return {"first": first, "again": min(times)}


def run(case: dict[str, object], cache: str) -> dict[str, float]:
    """One case in a new process."""
    environment = {**os.environ, "HOLOKERN_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return {"error": f"stopped after {LONGEST} s"}  # type: ignore[dict-item]
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:200]}  # type: ignore[dict-item]
    return json.loads(done.stdout.splitlines()[-1])


def table(quick: bool, only: list[str], wanted: list[str], images: Path | None, path: Path | None) -> None:
    """All cases: first call, calls after it, first call of a second process, five points, ten layers."""
    names = only or (["gelu", "tanh", "elu"] if quick else [*SMOOTH, *KINKED, *AWAY])
    rows: list[dict[str, object]] = json.loads(path.read_text()) if path and path.exists() else []

    def keep(row: dict[str, object]) -> None:
        same = [k for k, old in enumerate(rows) if all(old[key] == row[key] for key in ("data", "activation"))]
        place = same[0] if same else len(rows)
        rows[place : place + 1] = [row]
        print("  ", {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
        if path:
            write_atomically(path, json.dumps(rows, indent=1) + "\n")

    data: dict[str, dict[str, object]] = {label: {"range": span, "size": SIZE} for label, span in RANGES.items()}
    data |= {label: {"images": str(images), "largest": largest} for label, largest in IMAGES.items() if images}
    for label, of in data.items():
        if wanted and label not in wanted:
            continue
        base = {**of, "depth": 3}
        reference = run({**base, "activation": "numpy"}, tempfile.mkdtemp())["first"]
        print(f"{label}: numpy's ReLU closed form {reference:.2f} s", flush=True)
        for name in names:
            case = {**base, "activation": name}
            with tempfile.TemporaryDirectory() as cache:
                # Some machine code is compiled only for the activations that need it.
                run(case, cache)
            with tempfile.TemporaryDirectory() as cache:
                first = run(case, cache)
                seconds = [first] if "error" in first else [run(case, cache) for _ in range(_PROCESSES)]
            second = next((one for one in seconds if "error" in one), None) or {
                key: min(one[key] for one in seconds) for key in ("first", "again")
            }
            row = {"data": label, "activation": name, "numpy": reference, **first}
            if "error" not in first and "error" not in second:
                # Its own later calls: processes differ by how fast the machine gives them memory.
                ratio = second["first"] / second["again"]
                row |= {"second process": second["first"], "second process / its next calls": ratio}
                row |= {"times numpy": first["first"] / reference, "again / numpy": first["again"] / reference}
            keep(row)
    for label, case in {
        "5 points, norms 0.001 to 1000": {"range": (1e-3, 1e3), "size": 5, "depth": 3},
        "norms 2 to 20, ten layers": {"range": (2.0, 20.0), "size": SIZE, "depth": 10},
    }.items():
        for name in names if not wanted or label in wanted else []:
            with tempfile.TemporaryDirectory() as cache:
                row = {"data": label, "activation": name, **run({**case, "activation": name}, cache)}
            keep(row)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="activations")
    parser.add_argument("--data", nargs="*", default=[], help="labels of data")
    parser.add_argument("--images", type=Path, help="the folder of Fashion-MNIST")
    parser.add_argument("--case")
    arguments = parser.parse_args()
    if arguments.case:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        print(json.dumps(measure(json.loads(arguments.case))))
        return
    table(arguments.quick, arguments.only, arguments.data, arguments.images, arguments.json)


if __name__ == "__main__":
    main()
