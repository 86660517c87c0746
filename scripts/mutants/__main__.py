"""Change the code on purpose, one small thing at a time, and see whether a test notices.

    make mutants                              what has not been tried since its statement last changed; can be stopped and taken up again
    make mutants ARGS="engine/device"         this folder or file only, under src/ironlaw
    make mutants ARGS="--again engine"        survivors that no reason explains, too: the tests have become better
    make mutants ARGS="--list"                also print each survivor
    make mutants ARGS="--minutes 40"          stop after so long
    make mutants ARGS="engine/serving --tests tests/engine/serving"   with these tests alone: quicker, and at most too strict
    make mutants ARGS="--sample 100 engine"   at most so many of each file, the same ones every time
    make mutants ARGS="--patience 10"         a mutant that 10 s of tests have not noticed has survived, even if slower ones would notice

What became of each mutant is kept in mutants/fates.jsonl, so that the pieces of a run add up; docs/mutants.md shows all of it.
Works on a copy of the tree, at low priority. Exit 1 where a file is under the limit.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from changes import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS = ("engine", "backends", "calibration")
TESTS = (
    *(f"tests/{room}" for room in ROOMS), "tests/registry/test_local_machine.py", "tests/test_units.py", "tests/test_errors.py",
)  # fmt: skip
KEPT, TREE = ROOT / "mutants/fates.jsonl", ROOT / "mutants/tree"
PAGE, REASONS = ROOT / "docs/mutants.md", Path(__file__).with_name("reasons.toml")


def copy_the_tree() -> None:
    """Editing may go on meanwhile: what is changed, and what the tests run, are of one moment."""
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT / "src", TREE / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (TREE / "pytest.ini").write_text("[pytest]\n")  # or the project's would be found, and names be relative to it
    shutil.copytree(ROOT / "tests", TREE / "tests", ignore=shutil.ignore_patterns("__pycache__"))


def head() -> str:
    """The commit of the tree, marked where something in it has changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "no commit: there is no git here"


def read_fates() -> dict[str, str]:
    rows = map(json.loads, KEPT.read_text().splitlines()) if KEPT.exists() else ()
    return dict(rows)


def mutants_in(file: str, text: str) -> list[Mutant]:
    """Kept beside the fates: half a minute for all files."""
    kept = KEPT.with_name("changes") / f"{hashlib.sha1((file + text).encode()).hexdigest()}.pickle"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(list(mutants_of(file, text))))
    return pickle.loads(kept.read_bytes())


def sample_of(mutants: list[Mutant], most: int) -> set[str]:
    """Keys are hashes, so that the lowest of a file are drawn at random, and are the same next time."""
    keys: dict[str, list[str]] = {}
    for mutant in mutants:
        keys.setdefault(mutant.file, []).append(mutant.key)
    return {key for names in keys.values() for key in sorted(names)[: most or None]}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*", help="folders or files under src/ironlaw; all of " + ", ".join(ROOMS) + " if none is named")
    parser.add_argument("--again", action="store_true", help="survivors that no reason explains, too")
    parser.add_argument("--list", action="store_true", help="print each survivor")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--patience", type=float, default=float("inf"), help="seconds of tests for a mutant, the quickest first (all)")
    parser.add_argument("--sample", type=int, default=0, help="at most so many of each file, drawn by their keys (all)")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="folders or files of tests (those of all rooms)")
    parser.add_argument("--commit", default="", help="what the page says the code is of (git's HEAD)")
    parser.add_argument("--nice", type=int, default=10, help="how far to stand back for other programs (10)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    options = parser.parse_args()
    os.nice(options.nice)
    from page import LEAST, folders, page, read_reasons, reason_of, scores

    copy_the_tree()
    every = []
    for file in sorted(path for room in ROOMS for path in (TREE / "src/ironlaw" / room).rglob("*.py")):
        every += mutants_in(str(file.relative_to(TREE / "src/ironlaw")), file.read_text(encoding="utf-8"))
    chosen = [m for m in every if not options.paths or any(Path(m.file).is_relative_to(path) for path in options.paths)]
    if not chosen:
        sys.exit(
            f"nothing to change in {' '.join(options.paths)}; name folders or files under src/ironlaw, such as engine or engine/device"
        )
    fates, reasons = read_fates(), read_reasons(REASONS)
    again = {m.key for m in chosen if options.again and fates.get(m.key) == "survived" and not reason_of(m, reasons)}
    sample = sample_of(chosen, options.sample)
    todo = [m for m in chosen if (m.key not in fates and m.key in sample) or m.key in again]
    if todo:
        run(todo, options.tests, options.jobs, options.minutes, options.patience)
        fates = read_fates()
    PAGE.write_text(page(every, fates, reasons, options.commit or head()), encoding="utf-8")
    survivors = [m for m in chosen if fates.get(m.key) == "survived"]
    for m in survivors if options.list else ():
        print(f"{m.file}:{m.line}  {reason_of(m, reasons) or 'NOT EXPLAINED'}\n    {m.marked}")
    rows = scores(chosen, fates)
    print("\n".join(row.row() for row in (*rows, *folders(rows))))
    print(f"{sum(not reason_of(m, reasons) for m in survivors)} of {len(survivors)} survivors are not explained in {REASONS.name}")
    return 0 if all(row.percent >= LEAST for row in rows) else 1


def run(todo: list[Mutant], paths: Sequence[str], jobs: int, minutes: float, patience: float) -> None:
    import hypothesis  # noqa: F401

    for module in ("numpy", "scipy.optimize", "hypothesis.extra.numpy"):  # once, before the forks
        with contextlib.suppress(ImportError):
            __import__(module)
    os.environ["IRONLAW_HYPOTHESIS"] = "mutants"
    if missing := [path for path in paths if not (ROOT / path).exists()]:
        sys.exit(f"{' '.join(missing)}: no such tests; name folders or files from the root of the repository, such as tests/engine/device")
    sys.path.insert(0, str(TREE / "src"))
    os.chdir(TREE)
    from reach import Tests
    from trials import try_all

    tests = Tests(TREE, KEPT.parent, list(paths), ROOMS, patience)
    began = shown = time.monotonic()
    with KEPT.open("a", buffering=1) as kept, os.fdopen(os.dup(2), "w", buffering=1) as screen, contextlib.suppress(KeyboardInterrupt):
        before = len(read_fates())

        def report(mutant: Mutant, fate: str) -> bool:
            nonlocal shown
            kept.write(json.dumps([mutant.key, fate]) + "\n")
            if (now := time.monotonic()) - shown > 10:
                shown = now
                screen.write(f"{len(read_fates()) - before} of {len(todo)} mutants in {now - began:.0f} s\n")
            return now - began < 60 * minutes

        try_all(todo, tests, jobs, report)


if __name__ == "__main__":
    sys.exit(main())
