"""How a library runs an op on a kind of device. Each folder here is a backend; `register` adds one from outside.

A machine names its backend. One without a backend gets the datasheet's bound, and says so: nothing falls back on another
device's answers.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ironlaw.backends.backend import Backend
from ironlaw.errors import BadValue, unknown

__all__ = ["Backend", "find", "names", "register", "require"]

_registered: dict[str, Backend] = {}


@cache
def _folders() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in iter_modules(__path__) if module.ispkg))


def names() -> tuple[str, ...]:
    """Every backend there is: the folders here, then those registered from outside."""
    return (*_folders(), *_registered)


def find(name: str) -> Backend | None:
    """The backend of that name; None where there is none."""
    if name in _registered:
        return _registered[name]
    return _load(name) if name in _folders() else None


def require(name: str) -> Backend:
    """The backend of that name, or an error that lists those there are."""
    backend = find(name)
    if backend is None:
        raise unknown("backend", name, names(), f"a folder backends/{name}/, or backends.register")
    return backend


def register(backend: Backend) -> None:
    """Add a backend from outside this package, under its own name."""
    if backend.name in _folders():
        raise BadValue(f"backend {backend.name!r} is ironlaw's own; register yours under another name")
    _registered[backend.name] = backend


@cache
def _load(name: str) -> Backend:
    backend = import_module(f"ironlaw.backends.{name}").BACKEND
    if not isinstance(backend, Backend):
        raise BadValue(f"ironlaw.backends.{name}.BACKEND is {backend!r}, not a Backend; see backends/backend.py")
    return backend
