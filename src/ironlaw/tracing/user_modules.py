"""The names in the user's code: of a file, of a file that belongs to a package, or of a module that Python can import."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, IronlawError, MissingExtra
from ironlaw.tracing.target import described

RELATIVE = "attempted relative import"


def names_of(place: str, device: str) -> dict[str, Any]:
    """`model.py`, `package/model.py` with relative imports, or `package.model`."""
    path = Path(place)
    try:
        with on_any_machine() if device == "meta" else ExitStack():
            if not path.is_file():
                return imported(place)
            with found_from(str(path.parent.resolve())):
                try:
                    return runpy.run_path(str(path), run_name="__ironlaw__")
                except ImportError as error:
                    if RELATIVE not in str(error):
                        raise
            folder, name = in_package(path)
            with found_from(folder):
                return vars(importlib.import_module(name))
    except IronlawError:
        raise
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line(error, path)
        raise BadValue(f"{place} does not run (line {line}): {described(error)}; fix it first") from error


def imported(name: str) -> dict[str, Any]:
    """A module by its name, from the current folder or as it is installed."""
    with found_from(os.getcwd()):
        try:
            return vars(importlib.import_module(name))
        except ModuleNotFoundError as error:
            raise absent(name, error) from error


def absent(name: str, error: ModuleNotFoundError) -> IronlawError:
    """Why a module can't be imported, with the next step."""
    package, missing = name.partition(".")[0], error.name or name
    if name.endswith(".py") or "/" in name or os.sep in name:
        return BadValue(f"there is no file {name}; give the path of a Python file and a name in it, such as model.py:net")
    if missing == name and "." not in name:
        return BadValue(
            f"there is no file and no module {name}; give the path of a Python file and a name in it, such as model.py:net, or"
            " PACKAGE.MODULE:NAME"
        )
    if missing == package:
        return MissingExtra(f"{package} is not installed here, and the current folder has no package {package}; try: pip install {package}")
    if missing == name or name.startswith(f"{missing}."):
        return BadValue(f"{package} has no module {missing}; check the name, and run the command in the folder that holds {package}")
    return MissingExtra(f"{name} needs {missing}, which is not installed here; try: pip install {missing.partition('.')[0]}")


def in_package(path: Path) -> tuple[str, str]:
    """The folder that holds the outermost package of a file, and the file's name as a module."""
    path = path.resolve()
    parts, folder = [path.stem], path.parent
    while True:
        parts.insert(0, folder.name)
        folder = folder.parent
        if not (folder / "__init__.py").is_file():
            return str(folder), ".".join(parts)


@contextmanager
def found_from(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


@contextmanager
def on_any_machine() -> Iterator[None]:
    """A file that was written for a GPU runs here too: what it moves there stays where it is."""
    from ironlaw.tracing.gpu_ops import ElsewhereIsHere
    from ironlaw.tracing.libraries import scaled_gradients

    with scaled_gradients(), ElsewhereIsHere():
        yield


def _line(error: Exception, path: Path) -> int | str:
    import traceback

    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return lines[-1] if lines and lines[-1] is not None else "?"
