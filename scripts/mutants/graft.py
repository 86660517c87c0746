"""A changed module put in the place of one that is loaded, in a process that has collected every test.

The changed text runs in the module's own namespace, and then so does each module that is built on it, unchanged. Whatever others may
hold from before is changed in place to be as the new one: functions, tables, classes, instances of the module's own classes. What
can't be changed in place is exchanged wherever a module has it under the same name. What tests have computed from it while they were
collected stays as it was: a test that fails has noticed the change, but where none does, all must be loaded afresh to know.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Any

NOT_COPIED = ("__dict__", "__weakref__", "__module__", "__slots__", "__qualname__", "__firstlineno__", "__static_attributes__", "_abc_impl")


def importing(files: Iterable[Path], src: Path) -> dict[str, set[str]]:
    """What each of the modules imports from the others as it is imported itself: not what its functions ask for later."""
    trees = {module_of(file.relative_to(src)): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    return {
        name: {
            source
            for node in run_at_import(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for source in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            if source in trees and source != name
        }
        for name, tree in trees.items()
    }


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        only_read = isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
        if not only_read and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from run_at_import(child)


def module_of(file: Path) -> str:
    return ".".join(["ironlaw", *file.with_suffix("").parts]).removesuffix(".__init__")


def in_order(imports: Mapping[str, set[str]]) -> list[str]:
    """Each module after those that it imports."""
    return list(TopologicalSorter(imports).static_order())


def dependents(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    """The modules that import this one, or one that does."""
    chosen = {name}
    for other in in_order(imports):
        if imports[other] & chosen:
            chosen.add(other)
    return chosen - {name}


def namespaces(root: Path) -> list[dict[str, Any]]:
    """Of all loaded modules under a folder."""
    return [vars(m) for m in list(sys.modules.values()) if Path(getattr(m, "__file__", None) or "/").is_relative_to(root)]


def graft(name: str, code: CodeType, others: list[dict[str, Any]]) -> None:
    """Run `code` as the module of that name; `others` are the namespaces that may have taken something from it."""
    module = sys.modules[name]
    before = dict(vars(module))
    exec(code, vars(module))
    joint = _Joint(name)
    exchanged = []
    for key, old in before.items():
        new = vars(module)[key]
        if new is not old and not (key.startswith("__") and key.endswith("__")):
            kept = vars(module)[key] = joint.join(old, new)
            if kept is not old:
                exchanged.append((key, old, kept))
    for key, old, kept in exchanged:
        for names in others:
            if names.get(key) is old:
                names[key] = kept


class _Joint:
    """Pairs of an object from before and the one that should be in its place."""

    def __init__(self, module: str) -> None:
        self.module, self.kept, self.hold = module, {}, []
        self.kinds: list[tuple[type, Callable[[Any, Any], Any]]] = [
            (FunctionType, self._function), (dict, self._dict), (type, self._class), (property, self._property),
            (classmethod | staticmethod, lambda old, new: self._wrapped(old, new, "__func__")),
            (cached_property, lambda old, new: self._wrapped(old, new, "func")),
        ]  # fmt: skip

    def join(self, old: Any, new: Any) -> Any:
        """The object to use from now on."""
        if old is new or type(old).__name__ != type(new).__name__:
            return new
        if id(old) not in self.kept:
            self.hold += [old, new]  # or their ids could come again
            self.kept[id(old)] = old  # while it is being changed: it may hold itself
            self.kept[id(old)] = self._change(old, new)
        return self.kept[id(old)]

    def _change(self, old: Any, new: Any) -> Any:
        for kind, change in self.kinds:
            if isinstance(old, kind):
                return change(old, new)
        if hasattr(old, "cache_clear"):
            old.cache_clear()
            return self._wrapped(old, new, "__wrapped__")
        if type(old).__module__ == self.module:
            return self._instance(old, new)
        return new

    def _function(self, old: FunctionType, new: FunctionType) -> FunctionType:
        cells, fresh = old.__closure__ or (), new.__closure__ or ()
        if len(cells) != len(fresh) or old.__module__ != self.module:
            return new
        old.__code__, old.__kwdefaults__ = new.__code__, new.__kwdefaults__
        old.__defaults__ = tuple(self._instance_of_old(value) for value in new.__defaults__) if new.__defaults__ else None
        for cell, other in zip(cells, fresh, strict=True):
            with suppress(ValueError):  # an empty one
                if not isinstance(cell.cell_contents, type):  # super()'s class stays the one whose instances there are
                    cell.cell_contents = self.join(cell.cell_contents, other.cell_contents)
        return old

    def _dict(self, old: dict, new: dict) -> dict:
        joined = {key: self.join(old[key], value) if key in old else self._instance_of_old(value) for key, value in new.items()}
        old.clear()
        old.update(joined)
        return old

    def _class(self, old: type, new: type) -> type:
        if old.__module__ != self.module:
            return new
        for name, value in vars(new).items():
            if name not in NOT_COPIED and not isinstance(value, MemberDescriptorType):
                setattr(old, name, self.join(vars(old).get(name), value))
        return old

    def _property(self, old: property, new: property) -> property:
        self.join(old.fget, new.fget)
        return old

    def _wrapped(self, old: Any, new: Any, name: str) -> Any:
        self.join(getattr(old, name), getattr(new, name))
        return old

    def _instance(self, old: Any, new: Any) -> Any:
        for name in (*getattr(new, "__dict__", ()), *getattr(type(new), "__slots__", ())):
            if hasattr(new, name):
                object.__setattr__(old, name, self.join(getattr(old, name, None), getattr(new, name)))
        return old

    def _instance_of_old(self, value: Any) -> Any:
        """A new instance of a class whose old form stays."""
        old = getattr(sys.modules[self.module], type(value).__name__, None)
        if type(value).__module__ == self.module and isinstance(old, type):
            with suppress(TypeError):
                object.__setattr__(value, "__class__", old)
        return value
