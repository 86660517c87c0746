"""What there is to record, and recording it: each group in a process of its own, so that none knows what another left in memory."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import time
import traceback
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import seams
from book import Book, Items
from still import still

FULL = 1  # setting of each lab in the full ledger, which is saved there
NEEDS_LEDGER = ("labs:", "cli:")
LONGEST = ("ledger", "figures", "lab_v2_17", "lab_07", "lab_13", "lab_14")  # to be begun first


def tasks(examples: list[str]) -> list[str]:
    """What there is to record; first what takes longest."""
    of_commands = dict.fromkeys(f"cli:{line.partition(' ')[0]}" for line in examples)
    listed = ["ledger", *(f"labs:{slug}" for slug in seams.labs()), *of_commands, "help", "schemas", "grammar", "figures"]
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
    """One group. Where it fails, what it had until then is kept, and why."""
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(values.parent / "bytecode")  # each process would compile all of it again
    logging.disable(logging.ERROR)  # a view that can't be computed says so, and that is recorded
    with still(name) as place:
        book, extra = Book(values, place), None
        try:
            extra = _record(book, name, settings, old)
        except Exception:
            book.keep(f"{name.replace(':', '/')}/failed", {"failed": traceback.format_exc()})
            traceback.print_exc()
        book.close()
    return book.items, extra


def _record(book: Book, name: str, settings: int, old: dict[str, Any]) -> Any:
    import commands
    import figures
    import labs

    group, _, which = name.partition(":")
    match group:
        case "labs":
            labs.record(book, which, settings, old.get("ledger"))
        case "ledger":
            return labs.full_ledger(book, FULL)
        case "cli":
            lines = [line for line in old["examples"] if line.partition(" ")[0] == which]
            commands.record_examples(book, lines, old.get("ledger"))
        case "help":
            commands.record_help(book)
        case "schemas":
            commands.record_schemas(book)
        case "grammar":
            commands.record_grammar(book)
        case "figures":
            figures.record(book)
    return None
