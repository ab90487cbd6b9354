"""Products on a real local cluster, one of whose workers is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.conjugate_gradients import DistributedKernel, NystromPreconditioner, conjugate_gradients
from holokern.network import Network


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_costs_its_blocks_and_not_the_run():
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, 5))
    y = np.sin(points[:, :1])
    kernel = NetworkKernel(Network("relu", 3, bias=0.1), "ntk")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        tiles = DistributedKernel(client, kernel, points, tile=256)
        before = {info["pid"] for info in client.run(lambda dask_worker: {"pid": os.getpid()}).values()}
        killed = []

        def kill():
            time.sleep(1.0)
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        thread = threading.Thread(target=kill)
        thread.start()
        preconditioner = NystromPreconditioner.of(kernel, points[:200], points, 1.0)
        found = conjugate_gradients(
            lambda v: tiles.times(v) + v, y, lambda v: preconditioner @ v, tolerance=1e-8, max_steps=60
        )
        thread.join()
        after = {info["pid"] for info in client.run(lambda dask_worker: {"pid": os.getpid()}).values()}
    assert killed
    assert killed[0] not in after
    assert found.converged
    exact = np.linalg.solve(kernel(points) + np.eye(1500), y)
    np.testing.assert_allclose(found.solution, exact, atol=1e-6)
