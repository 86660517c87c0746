"""What there is to record, and recording it: each group in a process of its own, so that none knows what another left in memory."""

from __future__ import annotations

import multiprocessing
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from book import Book, Items
from still import still

ROOT = Path(__file__).resolve().parent.parent.parent
FULL = 5  # settings of each lab in the full ledger
NEEDS_LEDGER = ("labs:", "cli:")
LONGEST = ("ledger", "figures", "cli:coverage", "cli:analyze", "lab_v2_17", "lab_07", "lab_13", "lab_14")  # to be begun first


def tasks(examples: list[str]) -> list[str]:
    """What there is to record; first what takes longest."""
    import labs

    of_commands = dict.fromkeys(f"cli:{line.partition(' ')[0]}" for line in examples)
    listed = ["ledger", *(f"labs:{slug}" for slug in labs.catalogue()), *of_commands, "help", "schemas", "grammar", "figures"]
    return sorted(listed, key=lambda name: not any(part in name for part in LONGEST))


def run(names: list[str], folder: Path, settings: int, old: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Task -> its items; those that need the full ledger begin when there is one."""
    begin, made = time.monotonic(), {}
    later = [name for name in names if name.startswith(NEEDS_LEDGER) and not old.get("ledger")]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn, max_tasks_per_child=1) as pool:

        def submit(some: list[str]) -> set[Future[Any]]:
            futures = {pool.submit(task, name, folder / f"{name.replace(':', '-')}.gz", settings, old): name for name in some}
            called.update(futures)
            return set(futures)

        called: dict[Future[Any], str] = {}
        waiting = submit([name for name in names if name not in later])
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                name = called[one]
                made[name] = one.result()
                print(f"{time.monotonic() - begin:6.0f} s  {name}: {len(made[name][0]):,} items", file=sys.stderr, flush=True)
                if name == "ledger" and later:
                    old = {**old, "ledger": made[name][1]}
                    waiting |= submit(later)
                    later = []
    return made


def task(name: str, values: Path, settings: int, old: dict[str, Any]) -> tuple[Items, Any]:
    """One group in a process of its own."""
    with still() as place:
        import commands
        import figures
        import labs

        book, extra = Book(values, place), None
        group, _, slug = name.partition(":")
        if group == "labs":
            labs.record(book, slug, settings, old.get("ledger"))
        elif group == "ledger":
            extra = labs.full_ledger(book, FULL)
        elif group == "cli":
            lines = [line for line in old.get("examples") or commands.examples(ROOT) if line.partition(" ")[0] == slug]
            commands.record_examples(book, lines, old.get("ledger"))
        elif group == "help":
            commands.record_help(book)
        elif group == "schemas":
            commands.record_schemas(book)
        elif group == "grammar":
            commands.record_grammar(book, ROOT)
        else:
            figures.record(book, ROOT)
        book.close()
    return book.items, extra
