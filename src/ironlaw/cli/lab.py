"""`ironlaw lab`: write labs: `new` copies the template, `check` says what is wrong with one."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

from ironlaw.cli.options import Parser
from ironlaw.errors import BadValue, unknown

# `ironlaw lab new lab_02_memory_wall` is not among them: examples are run by the tests, and that one leaves a folder
EXAMPLE = """
ironlaw lab check
ironlaw lab check lab_01_magnitude
"""
NAME = re.compile(r"[a-z][a-z0-9_]{2,60}")
ACTIONS = ("new", "check")


def add(parser: Parser) -> None:
    parser.usage = "ironlaw lab new NAME | ironlaw lab check [NAME]"
    parser.add_argument(
        "action", metavar="ACTION", choices=ACTIONS, help="new: copy the template; check: test words, keys and slots, and run it headless"
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the lab's slug, such as lab_02_memory_wall; check without one tests all labs"
    )


def run(args: argparse.Namespace) -> int:
    return new(args.name) if args.action == "new" else check(args.name)


def labs() -> Path:
    return Path(__file__).parent.parent / "labs"


def new(name: str | None) -> int:
    """Copy labs/_template, which is a small working lab."""
    if name is None:
        raise BadValue("a new lab needs a name; give one: ironlaw lab new lab_02_memory_wall")
    if not NAME.fullmatch(name):
        raise BadValue(
            f"{name!r} is not a valid name for a lab; use lower-case letters, digits and underscores, such as lab_02_memory_wall"
        )
    place = labs() / name
    if place.exists():
        raise BadValue(f"a lab {name} exists already; choose another name, or open {place}")
    shutil.copytree(labs() / "_template", place, ignore=shutil.ignore_patterns("__pycache__"))
    for path in place.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("_template", name), encoding="utf-8")
    print(f"{place}\nNext: write words.md and questions.toml there, then `ironlaw lab check {name}` and `ironlaw labs {name}`.")
    print("docs/write-a-lab.md goes through it step by step.")
    return 0


def check(name: str | None) -> int:
    from ironlaw.kit.lab_check import problems

    every = sorted(path.parent.name for path in labs().glob("*/lab.py"))
    if name and name not in every:
        raise unknown("lab", name, [each for each in every if not each.startswith("_")], f"ironlaw lab new {name}")
    names = [name] if name else every
    faults = {each: problems(each) for each in names}
    for each, wrong in faults.items():
        print(f"{each}: {'fine' if not wrong else f'{len(wrong)} to fix'}")
        for line in wrong:
            print(f"  {line}")
    return 1 if any(faults.values()) else 0
