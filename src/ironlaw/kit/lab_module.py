"""The modules of a lab. One is imported when something of it is first shown; which names it provides is known before, from its code."""

from __future__ import annotations

import dis
import os
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue

PACKAGE = (Path(__file__).parent.parent / "labs").resolve()


class LabModule:
    """Its attributes are the module's: `LabModule(folder, "act1").truth(lab)`. One that is not in the package is read from its file."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        file = name.replace(".", "/")
        path = next((each for each in (folder / f"{file}.py", folder / file / "__init__.py") if each.exists()), None)
        if path is None:
            raise BadValue(f"{folder} has no {file}.py; write one; the files of labs/_template show how")
        self._loader = SourceFileLoader(f"ironlaw.labs.{folder.name}.{name}", str(path))

    @cached_property
    def names(self) -> frozenset[str]:
        """What the file defines, or imports by name. None of it runs: an act that is still closed brings no engine and no pictures."""
        stat = os.stat(self._loader.path)
        return _names(self._loader, stat.st_mtime_ns, stat.st_size)

    @cached_property
    def _module(self) -> Any:
        if self._folder.resolve().parent == PACKAGE or _is_importable(self._folder):
            return import_module(self._loader.name)
        spec: Any = spec_from_loader(self._loader.name, self._loader)
        loaded = module_from_spec(spec)
        self._loader.exec_module(loaded)
        return loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@lru_cache(maxsize=512)  # of each module as it is: an author saves it and opens the page again
def _names(loader: SourceFileLoader, saved: int, size: int) -> frozenset[str]:
    code: Any = loader.get_code(loader.name)
    return frozenset(step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME")


def _is_importable(folder: Path) -> bool:
    from ironlaw.own_labs import importable  # few have labs of their own

    return importable(folder)
