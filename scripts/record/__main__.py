"""Record what ironlaw shows and prints, change the code, then check that it still does the same.

    python scripts/record record before.json                                everything: some ten minutes on two idle cores
    python scripts/record compare before.json                               record again and list what differs; exit 1 if anything does
    python scripts/record compare before.json --settings 20                 with only the first 20 settings of each lab's dials
    python scripts/record compare before.json --only labs:lab_v2_05,cli:serve
    python scripts/record show before.json labs/lab_07_fusion/own/opened    the values recorded under a key

The groups are labs:<slug>, ledger, cli:<command>, help, schemas, grammar and figures. Everything is asked from the outside: the page that a
lab's host serves and what a learner does there, the command line, the public figures. The clock stands still, ids count up, the home folder
is empty and nothing is measured, so two records of the same code agree. before.json holds hashes; before.json.gz, beside it, the values.
A comparison runs the old record's examples and opens its full ledger, so that what users have today must still work.
Items that are only in the new record are mentioned, and are not a difference.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE)]

import book as books  # noqa: E402
from tasks import NEEDS_LEDGER, run, tasks  # noqa: E402

SETTINGS = 200
SHOWN = 3  # items of a lab or command that are printed, and parts of an item


def wanted(names: list[str], only: list[str]) -> list[str]:
    return [name for name in names if not only or any(name.startswith(one.partition("/")[0]) for one in only)]


def record(out: Path, only: list[str], settings: int, old: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Into `out` and the values beside it; `old` has what a comparison takes over."""
    import commands

    examples = old.get("examples") or commands.examples()
    names = wanted(tasks(examples), only)
    if not old.get("ledger") and any(name.startswith(NEEDS_LEDGER) for name in names):
        names = list(dict.fromkeys(["ledger", *names]))
    with tempfile.TemporaryDirectory() as folder:
        made = run(names, Path(folder), settings, {**old, "examples": examples}, jobs)
        with books.values_of(out).open("wb") as file:
            for values in sorted(Path(folder).glob("*.gz")):
                with values.open("rb") as part:
                    shutil.copyfileobj(part, file)  # members of one gzip file
    items = dict(sorted((key, parts) for some, _ in made.values() for key, parts in some.items()))
    ledger = old.get("ledger") or (made["ledger"][1] if "ledger" in made else None)
    book = {"settings": settings, "ledger": ledger, "examples": examples, "items": items}
    out.write_text(json.dumps(book, indent=0) + "\n", encoding="utf-8")
    return book


def compare(path: Path, out: Path, only: list[str], settings: int, jobs: int) -> int:
    old = json.loads(path.read_text(encoding="utf-8"))
    settings = min(settings, old["settings"])
    new = record(out, only, settings, old, jobs)
    before, now = books.chosen(old["items"], only, settings), books.chosen(new["items"], only)
    added = [key for key in now if key not in before]
    if added:
        print(f"{len(added):,} items are new, such as {', '.join(added[:4])}")
    return report(list(books.differences(before, now)), len(before), path, out)


def report(differing: list[books.Difference], count: int, old: Path, new: Path) -> int:
    """The first differences of each lab and command in full, then how many there are."""
    places: dict[str, dict[str, list[books.Difference]]] = {}
    for one in differing:
        places.setdefault(one.place, {}).setdefault(one.key, []).append(one)
    first = [one for keys in places.values() for some in list(keys.values())[:SHOWN] for one in some[:SHOWN]]
    before = books.look_up(books.values_of(old), {one.before for one in first if one.before})
    now = books.look_up(books.values_of(new), {one.now for one in first if one.now})
    for one in first:
        print(f"{one.key}  {one.part}")
        if one.before and one.now:
            print("\n".join(f"    {line}" for line in books.diff(before[one.before], now[one.now])))
        else:
            print("    gone" if one.now is None else "    new")
    for place, keys in places.items():
        print(f"{place}: {len(keys):,} items differ")
    print(f"{sum(map(len, places.values())):,} of {count:,} items differ")
    return 1 if differing else 0


def show(path: Path, key: str) -> int:
    items = books.chosen(json.loads(path.read_text(encoding="utf-8"))["items"], [key])
    values = books.look_up(books.values_of(path), {one for parts in items.values() for one in parts.values()})
    for name, parts in items.items():
        for part, digest in parts.items():
            print(f"{name}  {part}\n    {json.dumps(values[digest], ensure_ascii=False)}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="record", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("record", "compare", "show"))
    parser.add_argument("path", type=Path, metavar="FILE.json")
    parser.add_argument("key", nargs="?", default="")
    parser.add_argument("--only", default="", metavar="GROUP[,GROUP]")
    parser.add_argument("--settings", type=int, default=SETTINGS, metavar="N", help=f"of each act's dials (default {SETTINGS})")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default 2)")
    parser.add_argument("--out", type=Path, help="keep a comparison's new record here")
    args = parser.parse_args(arguments)
    only = [one for one in args.only.split(",") if one]
    if args.do == "show":
        return show(args.path, args.key)
    if args.do == "record":
        record(args.path, only, args.settings, {}, args.jobs)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return compare(args.path, args.out or Path(folder, "now.json"), only, args.settings, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
