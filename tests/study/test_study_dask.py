"""What a study does when a Dask cluster goes wrong; tests/release has a real one that loses a worker."""

from __future__ import annotations

import pytest
from distributed import KilledWorker

import ironlaw
from ironlaw.errors import BadValue, IronlawError
from ironlaw.studies import on_dask
from ironlaw.studies.study_file import study
from ironlaw.studies.study_rows import answer, key


class Future:
    def __init__(self, outcome):
        self.outcome = outcome

    def add_done_callback(self, call):
        if self.outcome is not None:
            call(self)

    def result(self):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def release(self):
        self.outcome = None


class Cluster:
    """A client of distributed, as far as a study uses it: batch `killed` loses its workers, batch `silent` never ends."""

    def __init__(self, killed=-1, silent=-1, threads=1, versions=(ironlaw.__version__,)):
        self.killed, self.silent, self.threads, self.versions = killed, silent, threads, versions
        self.status, self.given, self.dropped = "running", 0, None

    def submit(self, function, name, batch, pure):
        assert not pure
        self.given += 1
        if self.given - 1 == self.silent:
            return Future(None)
        return Future(KilledWorker("a", None, 3) if self.given - 1 == self.killed else function(name, batch))

    def cancel(self, futures):
        self.dropped = len(futures)

    def nthreads(self):
        return {"tcp://a": self.threads} if self.threads else {}

    def wait_for_workers(self, count, timeout):
        if not self.threads:
            raise TimeoutError

    def run(self, function, on_error):
        return {f"tcp://{i}": version for i, version in enumerate(self.versions)}


@pytest.fixture
def work():
    made = study({"study": {"question": "predict"}, "over": {"model": "mlp8_1024", "hardware": "t4", "batch": [1, 2, 3]}})
    return [[(key(made.question, point), point)] for point in made]


def test_points_that_lost_their_workers_are_stored_as_failed(work):
    rows = [row for batch in on_dask.on_dask(Cluster(killed=1), "predict", work) for row in batch]
    assert [row["failed"] for row in rows] == [False, True, False] and "memory ran out" in rows[1]["error"]
    assert rows[1]["key"] == work[1][0][0] and rows[0] == answer("predict", work[0])[0]


def test_a_cluster_without_workers_ends_the_run(work, monkeypatch):
    monkeypatch.setattr(on_dask, "LOOK_S", 0.01)
    monkeypatch.setattr(on_dask, "PATIENCE_S", 0.03)
    client = Cluster(silent=1)
    answers = on_dask.on_dask(client, "predict", work)
    assert len(next(answers)) == len(next(answers)) == 1
    client.threads = 0
    with pytest.raises(IronlawError, match=r"no workers left; .*run the same command again"):
        next(answers)
    assert client.dropped == 1


def test_a_scheduler_that_is_gone_ends_the_run(work, monkeypatch):
    monkeypatch.setattr(on_dask, "LOOK_S", 0.01)
    client = Cluster(silent=0)
    client.status = "closed"
    with pytest.raises(IronlawError, match="the Dask scheduler is gone"):
        list(on_dask.on_dask(client, "predict", work))


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (Cluster(threads=0), "has no workers; start one with `dask worker tcp://s:1`"),
        (Cluster(versions=(ironlaw.__version__, "0.0.1")), r"worker at tcp://1 has ironlaw 0\.0\.1; install ironlaw "),
        (Cluster(versions=(ModuleNotFoundError("ironlaw"),)), "worker at tcp://0 has no ironlaw that can answer; install ironlaw "),
    ],
)
def test_workers_that_cannot_answer_are_refused_at_the_start(client, words):
    with pytest.raises(BadValue, match=words):
        on_dask._check(client, "tcp://s:1")
    on_dask._check(Cluster(), "tcp://s:1")


def test_batches_are_many_and_small_but_not_too_many():
    from ironlaw.studies.study_rows import batches

    work = [(str(i), {}) for i in range(1000)]
    for workers, size in ((1, 62), (2, 31), (100, 1)):
        made = batches(work, workers)
        assert len(made[0]) == size and [one for batch in made for one in batch] == work
    assert len(batches(work * 100, 10_000)) == 5000 and len(batches(work * 100, 1)[0]) == 200
