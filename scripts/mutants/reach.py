"""Which tests run which lines, how long each takes, and in which order they are tried on a mutant."""

from __future__ import annotations

import ast
import hashlib
import json
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest
from changes import Mutant
from forks import OPTIONS, ended, fork
from graft import importing

IMPORT = ""  # coverage's name for what runs outside any test


class Tests:
    """Which tests run which lines, and how long each takes."""

    def __init__(self, root: Path, folder: Path, paths: list[str], rooms: Sequence[str], patience: float) -> None:
        self.root, self.src, self.paths, self.patience = root, root / "src/ironlaw", paths, patience
        self.imports = importing((file for room in rooms for file in (self.src / room).rglob("*.py")), self.src)
        kept, self.log, self.noticed, self.killers = (folder / f for f in ("baseline.json", "log.txt", "noticed.json", "killers.txt"))
        self.killers.write_text("")
        self.trying = ""
        digest = self._digest()
        fresh = kept.exists() and json.loads(kept.read_text())[0] == digest
        if not fresh and ended(fork(lambda: self._measure(kept, digest), self.log)) != 0:
            sys.exit(f"{self.log.read_text()}\nthe tests fail without any change; fix them first: pytest {' '.join(paths)}")
        _, self.seconds, self.lines = json.loads(kept.read_text())

    def _digest(self) -> str:
        """Of the tests that are run, and of everything that they may read: the same tests over the same code run the same lines."""
        digest = hashlib.sha1(" ".join(self.paths).encode())
        for file in sorted(path for folder in ("src", "tests") for path in (self.root / folder).rglob("*") if path.is_file()):
            if "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(self.root)).encode() + file.read_bytes())
        return digest.hexdigest()

    def _measure(self, kept: Path, digest: str) -> int:
        import coverage

        measured = coverage.Coverage(data_file=None, include=[str(self.src / "*")], config_file=False)
        seconds: dict[str, float] = defaultdict(float)

        class Timer:
            def pytest_runtest_logstart(self, nodeid: str) -> None:
                if workloads := sys.modules.get("ironlaw.registry.workloads"):
                    workloads._kept.cache_clear()  # what a graph remembers of an earlier test hides which lines this one runs
                measured.switch_context(nodeid)

            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                seconds[report.nodeid] += report.duration

        with measured.collect():
            code = pytest.main([*OPTIONS, *self.paths], plugins=[Timer()])
        data = measured.get_data()
        files = {str(Path(file).relative_to(self.src)): data.contexts_by_lineno(file) for file in data.measured_files()}
        if code == 0:
            kept.write_text(json.dumps([digest, seconds, files]))
        return int(code)

    def of(self, mutant: Mutant) -> list[str]:
        """Those that can notice it: first those that noticed its neighbours, then its own file's, then the quickest."""
        ran, path = self.lines.get(mutant.file, {}), Path(mutant.file)
        files = (f"/test_{path.stem}.py", f"/test_{path.parent.name}.py")
        own = {name for name in self.seconds if name.split("::")[0].endswith(files)}
        if self.at_import(mutant):  # a table, a default, a name: who reads it may run no line of this file
            near, names = self.running(mutant.file), set(self.seconds)
        else:
            near = names = {name for n in range(mutant.lines[0], mutant.lines[1] + 1) for name in ran.get(str(n), ())} - {IMPORT}
        lines = [line.split("\t") for line in self.killers.read_text().splitlines()]
        latest = {name: i for i, (trying, name) in enumerate(lines) if trying == self.trying}
        ever = {name for _, name in lines}  # elsewhere: a test of all tables, say
        slow = {name for name in names if self.seconds[name] > self.patience / 5}

        def rank(name: str) -> tuple[object, ...]:
            return (-latest.get(name, -1), name in slow, name not in own, name not in ever, name not in near, self.seconds[name], name)

        ordered = sorted(names, key=rank)
        return list(self.within(self.patience, ordered))

    def quickest(self, seconds: float) -> set[str]:
        """As many tests as run in that time."""
        return set(self.within(seconds, sorted(self.seconds, key=lambda name: (self.seconds[name], name))))

    def within(self, seconds: float, names: Sequence[str]) -> Iterator[str]:
        """The first of them, as many as run in that time."""
        spent = accumulate(self.seconds[name] for name in names)
        return (name for name, so_far in zip(names, spent, strict=True) if so_far < seconds)

    def remember(self, name: str) -> None:
        """That this test noticed the change that is being tried."""
        with self.killers.open("a") as killers:
            killers.write(f"{self.trying}\t{name}\n")

    @cache  # noqa: B019  one object for a whole run
    def running(self, file: str) -> set[str]:
        """The tests that run any line of a file."""
        return {name for tests in self.lines.get(file, {}).values() for name in tests} - {IMPORT}

    def at_import(self, mutant: Mutant) -> bool:
        """Whether it runs at import, or stands in a function that another one made there: its code is then a copy already."""
        ran = self.lines.get(mutant.file, {})
        if mutant.lines is None:
            return True
        ranges = [mutant.lines, *(outer for outer, inner in self.closures(mutant.file) if inner[0] <= mutant.lines[0] <= inner[1])]
        return any(IMPORT in ran.get(str(n), ()) for first, last in ranges for n in range(first, last + 1))

    @cache  # noqa: B019  one object for a whole run
    def closures(self, file: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """(lines of a function, lines of a function inside it), for all of a file; the outer one without its head."""
        kinds = (ast.FunctionDef, ast.Lambda)
        return [
            ((outer.body[0].lineno, outer.end_lineno or outer.lineno), (inner.lineno, inner.end_lineno or inner.lineno))
            for outer in ast.walk(ast.parse((self.src / file).read_text(encoding="utf-8")))
            if isinstance(outer, ast.FunctionDef)
            for inner in ast.walk(outer)
            if isinstance(inner, kinds) and inner is not outer
        ]

    def allow(self, name: str) -> None:
        """So much processor time for a test; then the process is killed."""
        signal.setitimer(signal.ITIMER_PROF, 3 + 5 * self.seconds.get(name, 0))
