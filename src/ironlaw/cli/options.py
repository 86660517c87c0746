"""What the commands' options share: reading values, and refusing bad ones with a next step."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ironlaw import units
from ironlaw.cli.command_parser import Parser as Parser  # noqa: PLC0414 - the commands have it from here
from ironlaw.cli.command_parser import spell
from ironlaw.errors import IronlawError
from ironlaw.systems.fields import REQUIRED, Parameter, parameters
from ironlaw.systems.registry_names import read_format, read_machine, read_mode
from ironlaw.systems.value_readers import LARGEST, read_figure, read_several, read_whole

Q = TypeVar("Q")


def checked(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """An argparse type whose own message survives (argparse would say only "invalid value")."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except IronlawError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def add_parameters(parser: Any, question: type, leave: Sequence[str] = ()) -> None:
    """An option for each of a question's parameters, but for those that the command has its own way with."""
    groups: dict[str, Any] = {"": parser}
    only_one: dict[str, Any] = {}  # of options that exclude each other
    options = {name: _option(one) for name, one in parameters(question).items()}
    for one in parameters(question).values():
        if one.name in leave:
            continue
        if one.group not in groups:
            groups[one.group] = parser.add_argument_group(one.group)
        group = groups[one.group]
        if one.excludes:
            group = only_one[one.excludes] = only_one.get(one.name) or group.add_mutually_exclusive_group()
        _add_parameter(group, one, spell(one.about, options))


def _option(one: Parameter) -> str:
    return one.flag or f"--{one.name.replace('_', '-')}"


def _add_parameter(group: Any, one: Parameter, about: str) -> None:
    named = not one.flag or one.flag.startswith("-")
    default = None if one.default is REQUIRED or one.item else one.default
    words: dict[str, Any] = {"help": about.replace("%", "%%"), "default": default}
    if named:
        words |= {"dest": one.name, "required": one.default is REQUIRED and one.column != "bool"}
    if one.column == "bool":
        words |= {"action": "store_true"}
    elif one.metavar:
        words |= {"metavar": one.metavar, "type": checked(one.item or one.read)} | ({"action": "append"} if one.item else {})
    else:
        words |= {"choices": tuple(one.options() if one.options else ())}
    if (not named and one.default is not REQUIRED) or one.alone is not None:
        words |= {"nargs": "?", "const": one.alone}
    group.add_argument(_option(one) if named else one.name, **words)


def ask(question: type[Q], args: argparse.Namespace, **more: Any) -> Q:
    """The question with what was written on the command line."""
    given = {name: getattr(args, name, None) for name in parameters(question) if name not in more}
    return question(**{name: value for name, value in given.items() if value is not None}, **more)


size = checked(read_whole)  # a count: whole and above 0
sizes = checked(lambda text: read_several(text, read_whole, what="number"))  # "1,8" -> the two counts, each once
number = checked(lambda text: read_figure(text, most=LARGEST))  # above 0; commas may separate thousands


def figure(unit: str, zero: bool = False) -> Callable[[str], float]:
    """A number with a unit (`"51 MB"`), or bare in the SI unit."""
    return checked(lambda text: read_figure(text, unit, zero))


modes = checked(lambda text: read_several(text, read_mode))
number_format = checked(read_format)
machines = checked(lambda text: read_several(text, read_machine))  # a machine named twice counts once


def add_json(parser: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON only; numbers in SI units")


def add_notes(parser: Any) -> None:
    parser.add_argument("--notes", action="store_true", help="explain every column, show what is left out, and name all sources")


def add_chrome_trace(parser: Any) -> None:
    parser.add_argument(
        "--chrome-trace", metavar="FILE",
        help="also write the predicted run over time, launches and kernels, as a trace that Perfetto and chrome://tracing open",
    )  # fmt: skip


def add_set(parser: Any) -> None:
    from ironlaw.systems.captures import read_setting

    parser.add_argument(
        "--set", metavar="KEY=VALUE", type=checked(read_setting), action="append", default=[], help="set a config field or factory argument"
    )


def add_limit(parser: Any, default: float | None, shown: float) -> None:
    """`shown`: what the help gives as the default."""
    parser.add_argument(
        "--limit",
        metavar="TIME",
        type=figure("s", zero=True),
        default=default,
        help=f"time limit for running your file, such as '90 s'; 0 for none (default {units.show(shown, 's')})",
    )


def add_machines(parser: Parser) -> None:
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, required=True, help="machines, by slug or alias; see `ironlaw hardware`")
