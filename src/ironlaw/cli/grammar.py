"""grammar.json: every command's options and what each takes, written by `scripts/docs.py`, so that TAB need not import the commands."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

from ironlaw.cli import COMMANDS, parser
from ironlaw.cli.ledger import ACTS
from ironlaw.cli.schema import schemas
from ironlaw.cli.validate import KINDS
from ironlaw.engine.cluster.stacks import MODES as STACK_MODES
from ironlaw.engine.device.machine import MODES
from ironlaw.engine.device.types import FORMATS
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.measure.devices.device_kinds import KINDS as DEVICES
from ironlaw.measure.suites.cuda.parts import PARTS
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.stacks import stacks
from ironlaw.studies.study_questions import QUESTIONS

# What stands for a folder of the registry, the labs or files; `tab.py` lists those where TAB is pressed.
BY_METAVAR: dict[str, str | Iterable[str]] = {
    "HW": "hardware", "HW[,HW]": "hardware", "HW=N[,…]": "price", "[check | add FILE] [NAME]": "hardware", "BOX": "box",
    "MODEL": "workload", "WORKLOAD": "workload", "TARGET": "target", "FILE.py:NAME": "file", "NAME|FILE": "trace", "LAB": "lab",
    "FILE": "file", "FILE[,FILE]": "file", "FILE.toml": "file",
    "OLD": "file", "NEW": "file", "TABLE": "file", "DIR": "file", "FOLDER": "file", "OUT": "file",
    "MODE[,MODE]": MODES, "FMT": FORMATS, "FMT[,FMT]": FORMATS, "DEVICE": DEVICES, "KIND": KINDS, "PART,…": PARTS,
}  # fmt: skip
MEASURED = ("fp32", "fp16", "bf16")
COMPUTED = ("fp64", "tf32", *MEASURED)
BY_PLACE: dict[tuple[str, str], str | Iterable[str]] = {
    ("workload", "name"): "workload", ("queue", "workload"): "workload", ("predict", "host"): "host", ("analyze", "host"): "host",
    ("labs", "name"): "lab", ("lab", "name"): "lab", ("schema", "name"): sorted(schemas()), ("study", "questions"): QUESTIONS,
    ("memory", "recipe"): RECIPES, ("memory", "optimiser"): OPTIMISERS, ("memory", "checkpoint"): ("all",),
    ("capacity", "engine"): "engine", ("cluster", "stack"): stacks(), ("cluster", "mode"): STACK_MODES,
    ("analyze", "dtype"): COMPUTED, ("measure", "dtype"): MEASURED, ("coverage", "dtype"): MEASURED, ("coverage", "target"): "file",
    ("roofline", "level"): sorted({level.name for slug in machines() for level in hardware(slug).levels}),
    ("ledger", "act"): ACTS, ("class", "act"): ("report", "assign", "check"),
    ("site", "scorm_version"): ("1.2", "2004"),
}  # fmt: skip


def text() -> str:
    """The file, one option a line."""
    commands = {name: [_option(name, action) for action in parser(name)._actions] for name in COMMANDS}
    listing = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(option, ensure_ascii=False) for option in options) + "\n]"
        for name, options in commands.items()
    )
    return f"{{\n{listing}\n}}\n"


def _option(command: str, action: argparse.Action) -> dict[str, Any]:
    about: dict[str, Any] = {"names": action.option_strings or [action.dest], "nargs": action.nargs, "help": action.help or ""}
    takes = BY_PLACE.get((command, action.dest)) or BY_METAVAR.get(str(action.metavar))
    words = action.choices or (takes if not isinstance(takes, str) else None)
    if words:
        about["takes"] = [str(word) for word in words if _accepts(action, str(word))]
    elif takes:
        about["takes"] = takes
    if "," in str(action.metavar):
        about["list"] = True
    return about


def _accepts(action: argparse.Action, word: str) -> bool:
    if not callable(action.type):
        return True
    try:
        action.type(word)
    except (argparse.ArgumentTypeError, ValueError):
        return False
    return True
