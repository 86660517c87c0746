"""Change the engine on purpose, one small thing at a time, and see whether a test notices.

    python scripts/mutants.py                     every file of the engine; exit 1 under 90 % in any file
    python scripts/mutants.py fusion.py work.py   these files only
    python scripts/mutants.py --list              also print each survivor
    python scripts/mutants.py --again             only those that survived the last run, or that it does not know: new and changed lines

The changes are mutmut's (its operators, on its syntax tree); running them is done here, because mutmut leaves out whatever
is decorated or stands outside a function: all of the op kinds, every property, the tables. Each mutant gets a forked child,
which imports the changed source and runs the tests that touch the changed line, shortest first, until one fails.
Works on a copy of the tree. Why a survivor may live is written in docs/mutants.toml; docs/mutants.md shows the outcome, the
latest for each file (kept in mutants/last.json).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parent.parent
ENGINE = Path("src/ironlaw/engine")
TESTS = ("tests/engine", "tests/test_units.py", "tests/test_errors.py")
PAGE, REASONS, LAST = ROOT / "docs/mutants.md", ROOT / "docs/mutants.toml", ROOT / "mutants/last.json"
LEAST = 90.0
PYTEST = ["-q", "-x", "--assert=plain", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
LEFT_ALONE = ("isinstance", "len")  # as mutmut does
TYPES = ("Any", "Callable", "Mapping", "Sequence")  # an alias of these is an annotation, not a value


@dataclass
class Mutant:
    """One change: the lines before and after it, and what became of it."""

    file: str
    line: int
    was: str
    now: str
    lines: tuple[int, int] | None  # None: it takes effect at import, for every test
    fate: str = ""  # killed | survived | timeout

    @property
    def change(self) -> tuple[str, str, str]:
        return self.file, self.was, self.now


def make(file: str, source: str) -> Iterator[tuple[Mutant, str]]:
    """Every mutant of a file, with its whole source."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
    from mutmut.mutation.mutators import mutation_operators

    wrapper = MetadataWrapper(cst.parse_module(source))
    places, parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
    module, before = wrapper.module, source.splitlines()

    def skipped(node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom):
            return True
        if isinstance(node, cst.Decorator):
            return not (isinstance(node.decorator, cst.Call) and getattr(node.decorator.func, "value", "") == "kind")
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in LEFT_ALONE:
            return True
        value = getattr(node, "value", None) if isinstance(node, cst.Assign) else None
        while isinstance(value, cst.Subscript):
            value = value.value
        return isinstance(value, cst.Name) and value.value in TYPES

    def reach(node: cst.CSTNode) -> tuple[int, int] | None:
        """The lines whose running runs this node; None where importing does."""
        inner, child = node, node
        statement: cst.CSTNode | None = None
        while inner is not module:
            child, inner = inner, parents[inner]
            if statement is None and isinstance(child, cst.SimpleStatementLine):
                statement = child
            if isinstance(inner, cst.FunctionDef) and child is inner.body:
                at = places[statement or node]
                return at.start.line, at.end.line
        return None

    # statement by statement: to rebuild the whole file for each change would take minutes
    pieces = [module.code_for_node(statement) for statement in module.body]
    head = source[: len(source) - len("".join(pieces)) - len("".join(module.code_for_node(line) for line in module.footer))]
    for i, statement in enumerate(module.body):
        seen = {ast.dump(ast.parse(pieces[i]))}
        stack: list[cst.CSTNode] = [statement]
        while stack:
            node = stack.pop()
            if skipped(node):
                continue
            stack.extend(reversed(node.children))
            for other in (new for kind, operator in mutation_operators if isinstance(node, kind) for new in operator(node)):
                piece = module.code_for_node(other if node is statement else statement.deep_replace(node, other))
                try:
                    shape = ast.dump(ast.parse(piece))
                except SyntaxError:
                    continue
                if shape not in seen:
                    seen.add(shape)
                    text = head + "".join([*pieces[:i], piece, *pieces[i + 1 :]])
                    was, now, first = changed(before, text.splitlines())
                    yield Mutant(file, first, was, now, reach(node)), text


def changed(before: list[str], after: list[str]) -> tuple[str, str, int]:
    """The lines that differ, and the number of the first."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return (
        "\n".join(line.strip() for line in before[head : len(before) - tail]),
        "\n".join(line.strip() for line in after[head : len(after) - tail]),
        head + 1,
    )


class Changed(SourceFileLoader):
    """Imports one module from text instead of its file."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class Finder:
    """Puts the changed text in the place of one module."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        self.name, self.path, self.text = name, path, text

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        loader = Changed(name, str(self.path))
        loader.text = self.text
        return spec_from_file_location(name, self.path, loader=loader)


class Chosen:
    """Runs the chosen tests in the given order, each with so much processor time, and ends the process at the first failure."""

    def __init__(self, order: dict[str, int], seconds: dict[str, float]) -> None:
        self.order, self.seconds = order, seconds

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, 3 + 5 * self.seconds[nodeid])

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_collectreport(self, report: object) -> None:
        if report.failed:
            os._exit(1)

    def pytest_runtest_logreport(self, report: object) -> None:
        if report.failed:
            os._exit(1)


class Timed:
    """Which test runs which line, and how long each takes."""

    def __init__(self, coverage: object) -> None:
        self.coverage, self.seconds = coverage, defaultdict(float)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: object) -> None:
        self.seconds[report.nodeid] += report.duration


def forked(work: Path, child: object, output: str = os.devnull) -> int:
    """Run `child` in a fork, in the copied tree, its words going to `output`; returns the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        os.chdir(work)
        words = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(words, 1)
        os.dup2(words, 2)
        sys.path[:0] = [str(work / "src")]
        code = child()
    finally:
        os._exit(code)


def baseline(work: Path) -> tuple[dict[str, float], dict[str, dict[int, list[str]]]]:
    """All tests once, unchanged: seconds per test, and per file the tests that run each line."""
    import coverage
    import pytest

    out, words = work / "baseline.json", work / "baseline.txt"

    def child() -> int:
        watch = coverage.Coverage(data_file=None, include=[str(work / ENGINE / "*.py")], config_file=False)
        timed = Timed(watch)
        watch.start()
        code = pytest.main([*PYTEST, *(t for t in TESTS if (work / t).exists())], plugins=[timed])
        watch.stop()
        data = watch.get_data()
        lines = {Path(f).name: data.contexts_by_lineno(f) for f in data.measured_files()}
        out.write_text(json.dumps([timed.seconds, lines]))
        return int(code)

    _, status = os.waitpid(forked(work, child, str(words)), 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{words.read_text()}\nthe tests fail without any change; mend them first: pytest {' '.join(TESTS)}")
    seconds, lines = json.loads(out.read_text())
    return seconds, {f: {int(n): [t for t in tests if t] for n, tests in by.items()} for f, by in lines.items()}


def chosen(mutant: Mutant, seconds: dict[str, float], lines: dict[str, dict[int, list[str]]]) -> list[str]:
    """The tests that can notice a mutant: its own test file's first, then shortest first."""
    by = lines.get(mutant.file, {})
    if mutant.lines is None:
        tests = {t for found in by.values() for t in found}
    else:
        tests = {t for n in range(mutant.lines[0], mutant.lines[1] + 1) for t in by.get(n, ())}
    own = f"test_{mutant.file}"
    return sorted(tests, key=lambda t: (own not in t, seconds[t], t))


def start(work: Path, mutant: Mutant, text: str, tests: list[str], seconds: dict[str, float]) -> int:
    import pytest

    def child() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        signal.setitimer(signal.ITIMER_PROF, 10)  # importing and collecting; then each test gets its own
        sys.meta_path.insert(0, Finder(f"ironlaw.engine.{Path(mutant.file).stem}", work / ENGINE / mutant.file, text))
        files = sorted({t.split("::")[0] for t in tests})
        return int(pytest.main([*PYTEST, *files], plugins=[Chosen({t: i for i, t in enumerate(tests)}, seconds)]))

    return forked(work, child)


def run(work: Path, todo: list[tuple[Mutant, str]], jobs: int, save: Callable[[], None]) -> None:
    """Each mutant to its fate, `jobs` at a time; saves what is known now and then."""
    seconds, lines = baseline(work)
    running: dict[int, Mutant] = {}
    began, done = time.monotonic(), 0

    def collect() -> None:
        nonlocal done
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        running.pop(pid).fate = "survived" if code == 0 else "killed" if code > 0 else "timeout"
        done += 1
        if done % 100 == 0:
            save()
            print(f"  {done} of {len(todo)} mutants in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    for mutant, text in todo:
        tests = chosen(mutant, seconds, lines)
        if not tests:
            mutant.fate = "survived"
            done += 1
            continue
        while len(running) >= jobs:
            collect()
        running[start(work, mutant, text, tests, seconds)] = mutant
    while running:
        collect()


def reasons() -> list[dict[str, str]]:
    return tomllib.loads(REASONS.read_text(encoding="utf-8")).get("survivor", []) if REASONS.exists() else []


def why(mutant: Mutant, known: list[dict[str, str]]) -> str:
    for row in known:
        if row["file"] == mutant.file and row["was"] == mutant.was and row.get("now", mutant.now) == mutant.now:
            return row["why"]
    return ""


def table(mutants: list[Mutant]) -> tuple[list[tuple[str, int, int, int, int, float]], bool]:
    rows = []
    for file in sorted({m.file for m in mutants if m.fate}):  # an interrupted run leaves some without
        fates = [m.fate for m in mutants if m.file == file and m.fate]
        killed, lived, late = (fates.count(fate) for fate in ("killed", "survived", "timeout"))
        rows.append((file, len(fates), killed, lived, late, 100.0 * (killed + late) / len(fates)))
    return rows, all(row[-1] >= LEAST for row in rows)


def page(mutants: list[Mutant], known: list[dict[str, str]]) -> str:
    """docs/mutants.md: the scores, and each survivor with the reason it may live."""
    rows, _ = table(mutants)
    text = [
        "# Mutants",
        "",
        "Written by `make mutants` (`scripts/mutants.py`), which changes the engine in small ways, one at a time, and runs the tests that",
        f"touch the changed line. At least {LEAST:.0f} % must be noticed in every file. A test that hangs has noticed.",
        "",
        "| file | mutants | killed | survived | timeout | score |",
        "|---|--:|--:|--:|--:|--:|",
        *(f"| {f} | {n} | {k} | {s} | {t} | {score:.1f} % |" for f, n, k, s, t, score in rows),
        "",
        "## Survivors",
        "",
        "Reasons are kept by hand in `mutants.toml`. Equivalent: no input tells the change from the original.",
    ]
    for file in sorted({m.file for m in mutants}):
        lived = [m for m in mutants if m.file == file and m.fate == "survived"]
        if lived:
            text += ["", f"### {file}", "", "| was | became | why it lives |", "|---|---|---|"]
            text += [f"| {_code(m.was)} | {_code(m.now)} | {why(m, known) or 'not explained yet'} |" for m in lived]
    return "\n".join(text) + "\n"


def _code(text: str) -> str:
    return "<br>".join("`" + line.replace("|", "\\|").replace("`", "'") + "`" for line in text.splitlines()) or "(nothing)"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", help="files of the engine, such as fusion.py; all if none is named")
    parser.add_argument("--list", action="store_true", help="print each survivor")
    parser.add_argument("--again", action="store_true", help="only those that survived the last run, or that it does not know")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    asked = parser.parse_args()
    names = sorted(p.name for p in (ROOT / ENGINE).glob("*.py") if p.name != "__init__.py")
    files = [Path(f).name for f in asked.files] or names
    if unknown := set(files) - set(names):
        sys.exit(f"no engine file {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
    try:
        import coverage  # noqa: F401
        import hypothesis  # noqa: F401
        import mutmut.mutation.mutators  # noqa: F401
        import numpy  # noqa: F401
        import pytest  # noqa: F401
    except ImportError as error:
        sys.exit(f"{error}; install what mutation testing needs: pip install -e '.[mutants]'")
    for module in ("scipy", "hypothesis.extra.numpy"):  # once, before the forks
        with contextlib.suppress(ImportError):
            __import__(module)
    os.environ["IRONLAW_HYPOTHESIS"] = "mutants"

    last = [Mutant(**row) for row in json.loads(LAST.read_text())] if LAST.exists() else []
    dead = {m.change for m in last if m.fate} - {m.change for m in last if m.fate not in ("killed", "timeout")}
    with tempfile.TemporaryDirectory(prefix="ironlaw-mutants-") as folder:
        work = Path(folder).resolve()
        shutil.copytree(ROOT / "src", work / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for test in TESTS:
            if (ROOT / test).is_dir():
                shutil.copytree(ROOT / test, work / test, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / test).exists():
                shutil.copy(ROOT / test, work / test)
        todo = [pair for f in files for pair in make(f, (work / ENGINE / f).read_text(encoding="utf-8"))]
        kept = [m for m in last if m.file in names and m.file not in files]
        if asked.again:
            known_dead = {mutant.change for mutant, _ in todo} & dead
            kept += [m for m in last if m.file in files and m.change in known_dead]
            todo = [pair for pair in todo if pair[0].change not in dead]
        mutants = [mutant for mutant, _ in todo]

        def save() -> None:
            LAST.parent.mkdir(exist_ok=True)
            LAST.write_text(json.dumps([asdict(m) for m in [*kept, *mutants]]))

        run(work, todo, asked.jobs, save)
        save()

    known = reasons()
    if asked.list or asked.again:
        for m in mutants:
            if m.fate == "survived":
                print(f"\n{ENGINE / m.file}:{m.line}  {why(m, known) or 'NOT EXPLAINED'}")
                print("\n".join([*(f"  - {line}" for line in m.was.splitlines()), *(f"  + {line}" for line in m.now.splitlines())]))
        print()
    every = [*kept, *mutants]
    PAGE.write_text(page(every, known), encoding="utf-8")
    touched = {m.file for m in mutants}
    rows, good = table([m for m in every if m.file in touched])
    print(f"{'file':18}{'mutants':>8}{'killed':>8}{'survived':>10}{'timeout':>9}{'score':>9}")
    for file, count, killed, survived, late, score in rows:
        print(
            f"{file:18}{count:8}{killed:8}{survived:10}{late:9}{score:7.1f} %{'' if score >= LEAST else '  under ' + format(LEAST, '.0f')}"
        )
    open_ones = sum(m.fate == "survived" and not why(m, known) for m in mutants)
    print(f"{open_ones} of {sum(m.fate == 'survived' for m in mutants)} survivors are not explained in docs/mutants.toml")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
