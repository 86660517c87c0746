"""argparse as the commands use it. Apart from options.py, which brings the questions: `ironlaw --help` needs none of them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ironlaw.cli.help_layout import Help
from ironlaw.errors import BadValue, IronlawError, unknown


class Parser(argparse.ArgumentParser):
    """argparse, but a bad argument is an IronlawError: one paragraph, and where to read on."""

    after = ""  # the name under which what follows -- is kept; empty where nothing may follow

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Help, allow_abbrev=False, **settings)

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse passes over a full disk or a closed pipe without a word."""
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        choices = [
            action for action in self._actions if action.metavar and action.choices and message.endswith(f"required: {action.metavar}")
        ]
        if choices:
            raise BadValue(f"`{self.prog}` needs one of {', '.join(map(str, choices[0].choices or ()))}; see `{self.prog} --help`")
        raise BadValue(f"{message.removeprefix('argument ')}; see `{self.prog} --help`")


def parse(parser: Parser, args: Sequence[str]) -> argparse.Namespace:
    """Parse; an option that does not exist gets its nearest matches."""
    own, after = list(args), []
    if parser.after and "--" in own:
        own, after = own[: own.index("--")], own[own.index("--") + 1 :]
    options, rest = parser.parse_known_args(own)
    if parser.after:
        setattr(options, parser.after, tuple(after))
    for extra in rest:
        if extra.startswith("--"):
            known = [text for action in parser._actions for text in action.option_strings if text.startswith("--")]
            raise unknown(f"option of `{parser.prog}`", extra.split("=")[0], known)
        parser.error(f"unexpected argument {extra!r}")
    return options


def spell(text: str, options: Mapping[str, str]) -> str:
    """Parameters that a text has in backticks, `rate` or `rate=5`, as a command takes them: --rate, --rate 5. `options`: by name."""

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        return match[0] if name not in options else f"{options[name]} {value}" if value else options[name]

    return re.sub(r"`(\w+)(?:=([^`]+))?`", option, text)


@contextmanager
def spelling(parser: Parser) -> Iterator[None]:
    """What is refused inside names this command's options."""
    try:
        yield
    except IronlawError as error:
        options = {action.dest: str((*action.option_strings, action.metavar)[0]) for action in parser._actions}
        error.args = (spell(str(error), options),)
        raise
