"""Batches on the workers of a Dask cluster that somebody else runs."""

from __future__ import annotations

import logging
import queue
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ironlaw.errors import BadValue, IronlawError, MissingExtra
from ironlaw.studies.study_questions import question
from ironlaw.studies.study_rows import Batch, Row, answer, unanswered

CONNECT_S = 10.0  # until a scheduler must have answered
PATIENCE_S = 60.0  # without a single worker until the run gives up
LOOK_S = 2.0  # between two looks at the cluster while nothing comes


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """A client of the scheduler at `address`; refused where nothing answers, nobody works, or workers have another ironlaw."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("--dask needs dask.distributed: pip install 'ironlaw[dask]'") from None
    logging.getLogger("distributed").setLevel(logging.ERROR)  # lost workers are this module's to report
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise BadValue(
            f"no Dask scheduler answers at {address} ({reason}); give the address that `dask scheduler` prints, such as tcp://host:8786",
            "dask",
        ) from None
    try:
        _check(client, address)
        yield client
    finally:
        client.close()


def workers(client: Any) -> int:
    """Threads of all workers: so many batches run at once."""
    return max(1, sum(map(int, client.nthreads().values())))


def on_dask(client: Any, name: str, work: Sequence[Batch]) -> Generator[list[Row]]:
    """Rows of each batch as it is done, each once. Dask gives the batches of a lost worker to another."""
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # no two runs may share a result by its name: each asks for its own
    waiting = {client.submit(answer, name, batch, pure=False): batch for batch in work}
    for future in waiting:
        future.add_done_callback(done.put)
    idle = 0.0
    try:
        while waiting:
            try:
                future = done.get(timeout=LOOK_S)
            except queue.Empty:
                idle = _idle(client, idle)
                continue
            idle = 0.0
            yield _rows(name, future, waiting.pop(future))
            future.release()
    finally:
        client.cancel(list(waiting))


def _rows(name: str, future: Any, batch: Batch) -> list[Row]:
    """The answers of a finished batch; points that lost several workers are stored with that as their error, for --retry."""
    from distributed import KilledWorker

    try:
        rows: list[Row] = future.result()
    except KilledWorker:
        reason = "the workers that computed it were lost, most often because memory ran out"
        return [unanswered(question(name), own, point, reason, True) for own, point in batch]
    return rows


def _idle(client: Any, before: float) -> float:
    """Seconds without a worker; refused where the scheduler is gone, or nobody came for long."""
    if client.status != "running":
        raise IronlawError("the Dask scheduler is gone; what was computed is stored: start it, and run the same command again")
    now = 0.0 if client.nthreads() else before + LOOK_S
    if now >= PATIENCE_S:
        raise IronlawError("the Dask cluster has no workers left; what was computed is stored: start some, and run the same command again")
    return now


def _check(client: Any, address: str) -> None:
    from ironlaw.version import __version__

    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError:
        raise BadValue(f"the Dask cluster at {address} has no workers; start one with `dask worker {address}`", "dask") from None
    for where, version in client.run(worker_version, on_error="return").items():
        if version != __version__:
            found = "no ironlaw that can answer" if isinstance(version, Exception) else f"ironlaw {version}"
            raise BadValue(f"the Dask worker at {where} has {found}; install ironlaw {__version__} there", "dask")


def worker_version() -> str:
    """The version of ironlaw in a worker."""
    from ironlaw.version import __version__

    return __version__
