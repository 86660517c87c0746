"""What every test gets: a home of its own, so that no test reads or writes the user's things."""

import gc
import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import collected_in_turn
import cpu_seconds
import hypothesis_profile  # noqa: F401  the same examples every time, on a busy machine too
import pytest

# Several processes share the cores already, and on small matrices the threads of a BLAS mostly wait for each other: a fit that takes
# 20 seconds took 70. Before anything imports NumPy or PyTorch; what a test starts inherits it.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# The tests hold a large heap that stays: looking through it for cycles again and again took a seventh of the engine's tests. What
# collecting has left is not looked through, also not in the five rounds with which pytest ends.
gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    cpu_seconds.watch(config)
    collected_in_turn.watch(config)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet. pytest would look through all of them for the next free name: milliseconds for each of thousands."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def ironlaw_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("IRONLAW_HOME", str(home))
    return home


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard here and by whatever a test starts: tests that a shell runs in the background (`&`) begin deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
