"""The all-reduce between processes: sums that are right, rows that say what was sent, and α and β that explain them."""

import json
import math
import socket
from contextlib import ExitStack
from threading import Thread

import numpy as np
import pytest

from ironlaw.engine.cluster.collectives import time
from ironlaw.engine.cluster.schedules import steps
from ironlaw.errors import BadValue
from ironlaw.measure.experiments import collectives_trial
from ironlaw.measure.experiments.run_experiment import run

SMALL = {collectives_trial.FREE: {2: (1 << 10,)}, collectives_trial.PACED: {3: (3 << 8, 3 << 14)}}


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives_trial, "ROUNDS", 2)
        patch.setattr(collectives_trial, "SIZES", SMALL)
        return run("collectives", seconds=0.0)


def test_real_processes_reach_the_sum_and_carry_what_the_model_says(measured) -> None:
    """Every rank checks its sum, a wrong one is an error; bytes are those that went through the busiest rank's sockets."""
    rows = measured["rows"]
    assert len(rows) == 4 * 3 and all(row["samples"] == 2 and 0 < row["best_s"] <= row["wall_s"] for row in rows)
    assert {row["params"]["ranks"] for row in rows} == {2, 3}
    for row in rows:
        params = row["params"]
        law = time("all_reduce", params["algorithm"], params["ranks"], params["bytes"], 1.0, 1.0)
        assert params["busiest_bytes"] == pytest.approx(law.bandwidth) and params["steps"] == law.latency
    json.dumps(measured, allow_nan=False)


def test_two_numbers_explain_the_rows(measured) -> None:
    wire, seen, foretold = collectives_trial.compare(measured["rows"])
    assert wire.alpha >= 0 and wire.beta > 0 and math.isfinite(seen) and math.isfinite(foretold)


def test_a_paced_rank_pays_for_each_byte_in_each_direction() -> None:
    class Still:
        def now(self) -> float:
            return self.moment

    clock = Still()
    clock.moment = 10.0
    pace = collectives_trial.Pace(100.0, clock)
    assert pace.wait("out") == 0.0
    pace.spend("out", 50)
    pace.spend("out", 50)
    assert pace.wait("out") == pytest.approx(1.0) and pace.wait("into") == 0.0
    clock.moment = 10.75
    assert pace.wait("out") == pytest.approx(0.25)
    clock.moment = 20.0
    pace.spend("out", 10)
    assert pace.wait("out") == pytest.approx(0.1)


def test_two_ranks_that_both_send_first_do_not_wait_for_each_other() -> None:
    """Buffers far larger than a socket's: without receiving meanwhile neither would end."""
    with ExitStack() as held:
        a, b = (held.enter_context(end) for end in socket.socketpair())
        for line in (a, b):
            line.setblocking(False)
        ranks = [collectives_trial.Rank(0, {1: a}), collectives_trial.Rank(1, {0: b})]
        buffers = [np.full(1 << 21, rank + 1, np.float32) for rank in range(2)]
        schedule = steps("recursive_doubling", 2)
        threads = [Thread(target=rank.all_reduce, args=(schedule, buffer)) for rank, buffer in zip(ranks, buffers, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert all((buffer == 3).all() for buffer in buffers)


def test_a_rank_that_is_gone_is_noticed() -> None:
    a, b = socket.socketpair()
    b.close()
    with a, pytest.raises(EOFError, match="gone"):
        collectives_trial.exchange({}, {a: memoryview(bytearray(8))})


def test_a_wrong_sum_is_refused() -> None:
    class Line:
        def send(self, asked: object) -> None: ...
        def recv(self) -> collectives_trial.Answer:
            return collectives_trial.Answer([1.0], 2.0, 3.0, [8])

    ranks = object.__new__(collectives_trial.Ranks)
    ranks.lines = [Line(), Line()]
    with pytest.raises(BadValue, match="ring over 2 ranks did not give the sum 3 on each"):
        ranks.time("ring", 2, 8, 0.0, 1)
    assert collectives_trial.elements(steps("ring", 3), 10) == 3
