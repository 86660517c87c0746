"""The options of commands that take a design in TOML."""

from __future__ import annotations

from typing import Any

from ironlaw.cli.options import Parser, add_json
from ironlaw.errors import BadValue
from ironlaw.files import read_toml


def add(parser: Parser, command: str) -> None:
    """The file, or a first one to start from."""
    parser.usage = f"ironlaw {command} FILE.toml [--json] | --example"
    parser.add_argument("file", metavar="FILE.toml", nargs="?", help="the design; see docs/designs.md")
    parser.add_argument("--example", action="store_true", help="print a design to start from and exit")
    add_json(parser)


def example(args: Any, design: str) -> bool:
    """Whether a design to start from was asked for; then it is printed."""
    if args.example and args.json:
        raise BadValue("--example prints TOML, so it can't be combined with --json; leave one of them out")
    if args.example and not args.file:
        print(design, end="")
        return True
    return False


def tables(args: Any, command: str) -> dict[str, Any]:
    """The tables as they are in the file."""
    if not args.file:
        raise BadValue(f"`ironlaw {command}` needs a design; write one with `ironlaw {command} --example > design.toml`")
    if args.example:
        raise BadValue("FILE.toml and --example can't be combined; leave one of them out")
    return read_toml(args.file, "a design", f"`ironlaw {command} --example` prints one to start from")
