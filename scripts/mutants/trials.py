"""Each mutant before the tests that run its lines, the quickest first, until one fails.

A change inside a function is tried in a fork of a process that has collected every test: the new code object takes the place of the old
one, so a mutant costs a few hundredths of a second. What runs while modules are imported or tests collected (tables, defaults,
decorators) is first grafted onto such a process (`graft`); what no test notices there in a few seconds is tried in a fork that has
imported nothing of ironlaw yet, and reads the changed file.
"""

from __future__ import annotations
import __future__

import gc
import json
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from changes import Mutant
from forks import OPTIONS, ended, fork
from graft import dependents, graft, in_order, module_of, namespaces
from reach import Tests

MEMORY = 8 << 30
KILLED = 100  # the exit code, which nothing else has
PATIENCE = 5.0  # seconds of tests, before a module is loaded afresh for a mutant that none has noticed
Report = Callable[[Mutant, str], bool]  # takes a mutant and what became of it; whether there is time for more


def try_all(mutants: Iterable[Mutant], tests: Tests, jobs: int, report: Report) -> None:
    quick, thorough = [], []
    for mutant in mutants:
        (thorough if tests.at_import(mutant) else quick).append(mutant)
    in_memory = InMemory(quick, thorough, tests, jobs, report)
    if ended(fork(lambda: int(pytest.main([*OPTIONS, *tests.paths], plugins=[in_memory])), tests.log)) != 0:
        sys.exit(tests.log.read_text())
    noticed = set(json.loads(tests.noticed.read_text()))
    _in_parallel([m for m in thorough if m.key not in noticed], jobs, lambda mutant: _from_source(mutant, tests), report)


def _in_parallel(mutants: list[Mutant], jobs: int, child: Callable[[Mutant], int], report: Report, control: bool = True) -> None:
    fates = {0: "survived", KILLED: "killed"}  # or it was ended by a signal: too much time, or memory
    running: dict[int, Mutant] = {}
    unchanged = [replace(mutant, statement=mutant.original) for mutant in mutants[: int(control)]]
    waiting = [*mutants[::-1], *unchanged]  # first of all, what must survive
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[fork(lambda mutant=mutant: child(mutant), Path(os.devnull))] = mutant
        pid, status = os.wait()
        mutant, code = running.pop(pid), os.waitstatus_to_exitcode(status)
        if (code > 0 and code != KILLED) or (mutant in unchanged and code != 0):
            raise RuntimeError(f"{mutant.file}:{mutant.line} could not be tried: exit code {code} for {mutant.marked}")
        if mutant not in unchanged and not report(mutant, fates.get(code, "timeout")):
            waiting = []


class EndAtFailure:
    """The tests by name, in that order; the first that fails ends the process."""

    def __init__(self, names: list[str], tests: Tests) -> None:
        self.order, self.tests = {name: i for i, name in enumerate(names)}, tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tests.allow(nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os._exit(KILLED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests.remember(report.nodeid)
            os._exit(KILLED)


class InMemory:
    """Instead of running the collected tests once: for each mutant, those of them that can notice it, in a fork."""

    def __init__(self, mutants: list[Mutant], at_import: list[Mutant], tests: Tests, jobs: int, report: Report) -> None:
        self.mutants, self.at_import, self.tests, self.jobs, self.report = mutants, at_import, tests, jobs, report

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions = defaultdict(list)
        gc.unfreeze()  # what the tests' conftest has put away is not listed otherwise
        for function in gc.get_objects():
            if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(str(self.tests.src)):
                self.functions[function.__code__.co_filename, function.__code__.co_qualname].append(function)
        if not self.functions:
            raise RuntimeError(f"no function of {self.tests.src} is loaded, so no mutant could be tried")
        session.config.pluginmanager.register(EndAtFailure([], self.tests))
        gc.freeze()
        _in_parallel(self.mutants, self.jobs, self.attempt, self.report)
        self.tests.noticed.write_text(json.dumps(self.noticed_at_import()))
        return True

    def noticed_at_import(self) -> list[str]:
        """The keys of those that a test notices though only modules were run again; nothing is known of the others."""
        imports = self.tests.imports
        codes = {name: sys.modules[name].__loader__.get_code(name) for name in imports if name in sys.modules}
        self.others, self.quickest = namespaces(self.tests.root), self.tests.quickest(PATIENCE)
        order = [name for name in in_order(imports) if name in codes]
        if not self.at_import or ended(fork(lambda: self.attempt_graft([(name, codes[name]) for name in order]), self.tests.log)) != 0:
            return []
        noticed: list[str] = []

        def note(mutant: Mutant, fate: str) -> bool:
            if fate != "survived":
                noticed.append(mutant.key)
            return fate == "survived" or self.report(mutant, fate)

        def child(mutant: Mutant) -> int:
            name, path = module_of(Path(mutant.file)), self.tests.src / mutant.file
            changed = compile(mutant.source(path.read_text(encoding="utf-8")), str(path), "exec")
            built_on_it = dependents(name, imports)
            return self.attempt_graft([(name, changed), *((n, codes[n]) for n in order if n in built_on_it)], mutant)

        _in_parallel(self.at_import, self.jobs, child, note, control=False)
        return noticed

    def attempt_graft(self, modules: list[tuple[str, CodeType]], mutant: Mutant | None = None) -> int:
        """Without a mutant, all modules are run again unchanged: no test may notice."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.setitimer(signal.ITIMER_PROF, 10)
        try:
            for name, code in modules:
                graft(name, code, self.others)
        except Exception:
            return KILLED
        self.tests.trying = f"grafted {mutant.file if mutant else ''}"
        names = self.tests.of(mutant) if mutant else self.tests.seconds
        return self.run([name for name in names if name in self.quickest])

    def attempt(self, mutant: Mutant) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        path = str(self.tests.src / mutant.file)
        flags = __future__.annotations.compiler_flag
        code = compile("\n" * (mutant.first - 1) + mutant.statement, path, "exec", flags)
        replacement = _innermost_before(mutant.lines[0], [c for c in _codes(code) if c.co_qualname == mutant.function])
        for function in self.functions[path, mutant.function]:
            if function.__code__.co_firstlineno == replacement.co_firstlineno:
                function.__code__ = replacement
        self.tests.trying = mutant.file
        return self.run(self.tests.of(mutant))

    def run(self, names: list[str]) -> int:
        items = [self.items[name] for name in names]
        for item, following in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return 0


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _innermost_before(line: int, codes: list[CodeType]) -> CodeType:
    return max((code for code in codes if code.co_firstlineno <= line), key=lambda code: code.co_firstlineno)


class ChangedFile(MetaPathFinder, SourceFileLoader):
    """Imports one module from text instead of its file."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        SourceFileLoader.__init__(self, name, str(path))
        self.text = text

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


def _from_source(mutant: Mutant, tests: Tests) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = tests.src / mutant.file
    sys.meta_path.insert(0, ChangedFile(module_of(Path(mutant.file)), path, mutant.source(path.read_text(encoding="utf-8"))))
    tests.trying = f"loaded {mutant.file}"
    names = tests.of(mutant)
    for file in dict.fromkeys(name.split("::")[0] for name in names):  # one after the other: most are noticed by the first
        signal.setitimer(signal.ITIMER_PROF, 10)  # for importing and collecting
        code = pytest.main([*OPTIONS, file], plugins=[EndAtFailure(names, tests)])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return int(code)
    return 0
