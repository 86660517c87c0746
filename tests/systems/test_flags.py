"""Systems are asked from Python, studies and pages, too: they name parameters, and the command line alone spells options."""

import ast
import re
from pathlib import Path

import ironlaw.systems

FLAG = re.compile(r"(?<![\w-])--[a-z{]")


def flags(source):
    """Texts of code that name an option; comments may."""
    return [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and FLAG.search(str(node.value))]


def test_no_option_of_the_command_line_is_named():
    texts = {path.name: named for path in Path(ironlaw.systems.__file__).parent.rglob("*.py") if (named := flags(path.read_text("utf-8")))}
    assert texts == {}


def test_the_check_can_fail():
    assert flags('raise BadValue(f"{x}; leave --apart out")') == ["; leave --apart out"] and flags('f"`--rate`"') == ["`--rate`"]
    assert flags("x = 1 - -y  # --rate") == []
