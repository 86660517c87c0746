"""`ironlaw lab`: write labs: `new` copies the template, `check` says what is wrong with one."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
from pathlib import Path

from ironlaw import own_labs
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
    parser.usage = "ironlaw lab new NAME [--in FOLDER] | ironlaw lab check [NAME | FOLDER]"
    parser.add_argument(
        "action", metavar="ACTION", choices=ACTIONS, help="new: copy the template; check: test words, keys and slots, and run it headless"
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="the lab's slug, such as lab_02_memory_wall; check also takes its folder, and without either tests all labs",
    )
    parser.add_argument(
        "--in", metavar="FOLDER", dest="place", type=Path, help="the folder for a new lab of your own (default: ironlaw's own labs)"
    )


def run(args: argparse.Namespace) -> int:
    if args.action == "new":
        return new(args.name, args.place)
    if args.place is not None:
        raise BadValue("--in says where a new lab is written; to check one, give its folder: ironlaw lab check FOLDER")
    return check(args.name)


def labs() -> Path:
    return Path(__file__).parent.parent / "labs"


def new(name: str | None, within: Path | None = None) -> int:
    """Copy labs/_template, which is a small working lab."""
    if name is None:
        raise BadValue("a new lab needs a name; give one: ironlaw lab new lab_02_memory_wall")
    if not NAME.fullmatch(name):
        raise BadValue(
            f"{name!r} is not a valid name for a lab; use lower-case letters, digits and underscores, such as lab_02_memory_wall"
        )
    place = (within.expanduser().absolute() if within else labs()) / name
    if place.exists() or (labs() / name).exists():
        raise BadValue(f"a lab {name} exists already; choose another name, or open {place if place.exists() else labs() / name}")
    try:
        shutil.copytree(labs() / "_template", place, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise BadValue(f"cannot write {place} ({error.strerror or error}); name another folder with --in") from None
    for path in place.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("_template", name), encoding="utf-8")
    shown = f"IRONLAW_LABS={shlex.quote(str(place))} ironlaw labs {name}" if within else f"ironlaw labs {name}"
    checked = shlex.quote(str(place)) if within else name
    print(f"{place}\nNext: write words.md and questions.toml there, then `ironlaw lab check {checked}` and `{shown}`.")
    print("docs/write-a-lab.md goes through it step by step.")
    return 0


def check(name: str | None) -> int:
    from ironlaw.kit.lab_check import problems

    every = sorted(path.parent.name for path in labs().glob("*/lab.py"))
    own = own_labs.found()
    if name and (Path(name) / own_labs.SHEET).is_file():
        folder = Path(name).absolute()
        os.environ[own_labs.VARIABLE] = os.pathsep.join(filter(None, (str(folder), os.environ.get(own_labs.VARIABLE))))
        faults = {folder.name: own_labs.faults_of(folder) or problems(folder)}
    elif name and name not in every and name not in [lab.slug for lab in own]:
        raise unknown(
            "lab", name, [each for each in [*every, *(lab.slug for lab in own)] if not each.startswith("_")], f"ironlaw lab new {name}"
        )
    else:
        faults = {each: problems(each) for each in every if name in (None, each)}
        faults |= {lab.slug: [lab.fault] if lab.fault else problems(lab.folder) for lab in own if name in (None, lab.slug)}
    for each, wrong in faults.items():
        print(f"{each}: {'fine' if not wrong else f'{len(wrong)} to fix'}")
        for line in wrong:
            print(f"  {line}")
    return 1 if any(faults.values()) else 0
