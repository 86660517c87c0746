"""Systems are asked from Python, studies and pages, too: they name parameters, and the command line alone spells options.

Options of other programs, such as those of a serving engine's launch command, are text like any other."""

import ast
import json
import re
from importlib.resources import files
from pathlib import Path

import ironlaw.systems

FLAG = re.compile(r"(?<![\w-])--([a-z{][\w{}-]*)(?![\w{}-]|\.[a-z])")  # torchtitan's --training.seq_len is none of ours
GRAMMAR = json.loads((files("ironlaw.cli") / "grammar.json").read_text(encoding="utf-8"))
OURS = {name.removeprefix("--") for options in GRAMMAR.values() for option in options for name in option["names"]}


def ours(text):
    """Whether it names an option of our own command line, or one that is put together."""
    return any(name in OURS or "{" in name for name in FLAG.findall(text))


def flags(source):
    """Texts of code that name an option; comments may."""
    return [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and ours(str(node.value))]


def test_no_option_of_the_command_line_is_named():
    texts = {path.name: named for path in Path(ironlaw.systems.__file__).parent.rglob("*.py") if (named := flags(path.read_text("utf-8")))}
    assert texts == {}


def test_the_check_can_fail():
    assert flags('raise BadValue(f"{x}; leave --apart out")') == ["; leave --apart out"] and flags('f"`--rate`"') == ["`--rate`"]
    assert flags("x = 1 - -y  # --rate") == [] and flags('"--tensor-parallel-size --training.seq_len"') == []
