"""A study on a Dask cluster that loses a worker: nothing lost, nothing counted twice. What a study does with it: tests/study."""

from __future__ import annotations

import os
import signal

import pyarrow.parquet as pq
from distributed import Client, LocalCluster

from ironlaw.studies.study_file import study
from ironlaw.studies.study_run import run


def keys(path):
    return pq.read_table(path)["key"].to_pylist()


def test_a_dask_cluster_that_loses_a_worker(tmp_path):
    """Two processes, one of which is killed while it works."""
    over = {"model": ["mlp8_1024", "resnet50"], "hardware": "t4", "batch": [*range(1, 41)]}
    asked = study({"study": {"question": "predict"}, "over": over})
    alone = run(asked, tmp_path / "alone", jobs=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))
        stored: list[int] = []

        def kill(share, doing):
            stored.append(round(share * 80))
            if len(stored) == 2:  # the first batch is stored, thirty are to come
                os.kill(victim, signal.SIGKILL)

        shared = run(asked, tmp_path / "out", dask=cluster.scheduler_address, progress=kill)
        assert stored[0] == 0 and stored[-1] == 80 and len(stored) > 30
        assert shared.computed == 80 and shared.rows == alone.rows
        assert sorted(keys(shared.file)) == sorted(row["key"] for row in alone.rows)
        assert run(asked, tmp_path / "out", dask=cluster.scheduler_address).computed == 0
        with Client(cluster) as client:
            assert victim not in client.run(os.getpid).values()
