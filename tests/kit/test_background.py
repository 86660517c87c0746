"""What is computed before anybody asks is computed once, and not where it is not allowed."""

import threading

import pytest

from ironlaw.kit import background


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Nothing is begun yet, and it may be."""
    begun: set[str] = set()
    monkeypatch.setattr(background, "_begun", begun)
    monkeypatch.setattr(background, "allowed", threading.Event())
    background.allowed.set()
    return begun


def test_once_for_each_name(names: set[str]) -> None:
    done, runs = threading.Event(), []

    def fill() -> None:
        runs.append(threading.current_thread().daemon)
        done.set()

    background.begin("help", fill)
    assert done.wait(60) and runs == [True]  # a server that ends does not wait for it
    background.begin("help", lambda: runs.append(False))
    other = threading.Event()
    background.begin("another", other.set)
    assert other.wait(60) and runs == [True]


def test_not_where_it_is_not_allowed_nor_where_there_are_no_threads(names: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    background.allowed.clear()
    background.begin("help", pytest.fail)
    assert not names

    def refuse(timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    background.allowed.set()
    monkeypatch.setattr(threading.Timer, "start", refuse)
    background.begin("help", pytest.fail)
    assert names == {"help"}
