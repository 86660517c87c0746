"""Whether a model may be named by a file. A text that is computed, such as a question's key, may name the registry's models alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_only: ContextVar[bool] = ContextVar("names_only", default=False)


def names_only() -> bool:
    return _only.get()


@contextmanager
def without_files() -> Iterator[None]:
    before = _only.set(True)
    try:
        yield
    finally:
        _only.reset(before)
