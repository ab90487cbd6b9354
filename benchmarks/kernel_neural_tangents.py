"""The part of kernel.py that runs inside the virtual environment of neural-tangents 0.6.5 with jax 0.5.3.

Usage: python kernel_neural_tangents.py TASK.json RESULT.json

The task names a .npy file of points, the weight variance, the depth, and cases [activation, N, repeat]; the result
holds for each case the first and the best later CPU seconds, the peak memory of one more run in units of results and
input, and both kernels of the first points. Activations without a closed form go through ElementwiseNumerical at
degree 25.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import jax
import jax.numpy as jnp
import numpy as np
from _memory import memory_ratio, peak_memory

jax.config.update("jax_enable_x64", True)

from neural_tangents import stax  # noqa: E402 (after the switch to float64)

DEGREE = 25
SHOWN = 8
FUNCTIONS = {
    "elu": jax.nn.elu,
    "resin": lambda u: jnp.where(u > 0, jnp.sin(u), 0.0),
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "hardtanh": lambda u: jnp.clip(u, -1, 1),
}


def layer(name: str):
    if name == "relu":
        return stax.Relu()
    if name == "gelu":
        return stax.Gelu()
    if name == "erf":
        return stax.Erf()
    return stax.ElementwiseNumerical(FUNCTIONS[name], deg=DEGREE)


def kernel(name: str, depth: int, weight: float):
    dense = lambda: stax.Dense(1, W_std=weight**0.5, b_std=0.0)  # noqa: E731
    layers = []
    for _ in range(depth):
        layers += [dense(), layer(name)]
    function = stax.serial(*layers, dense())[2]
    return jax.jit(lambda x: tuple(function(x, None, ("nngp", "ntk"))))


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    points = np.load(task["points"])
    results = []
    before = peak_memory()
    for name, count, repeat in task["cases"]:
        x = jnp.asarray(points[:count])
        function = kernel(name, task["depth"], task["weight"])
        seconds = []
        for _ in range(1 + repeat):
            start = time.process_time()
            both = [matrix.block_until_ready() for matrix in function(x)]
            seconds.append(time.process_time() - start)
        shown = [np.asarray(matrix[:SHOWN, :SHOWN]).tolist() for matrix in both]
        del both
        results.append(
            {
                "activation": name,
                "N": count,
                "first": seconds[0],
                "seconds": min(seconds[1:] or seconds),
                "memory": memory_ratio(
                    lambda f=function, x=x: jax.block_until_ready(f(x)), 16 * count**2, x.nbytes, before
                ),
                "nngp": shown[0],
                "ntk": shown[1],
            }
        )
        Path(sys.argv[2]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
