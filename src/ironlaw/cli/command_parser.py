"""argparse as the commands use it. Apart from options.py, which brings the questions: `ironlaw --help` needs none of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from ironlaw.errors import BadValue, unknown


class Parser(argparse.ArgumentParser):
    """argparse, but a bad argument is an IronlawError: one paragraph, and where to read on."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        choices = [
            action for action in self._actions if action.metavar and action.choices and message.endswith(f"required: {action.metavar}")
        ]
        if choices:
            raise BadValue(f"`{self.prog}` needs one of {', '.join(map(str, choices[0].choices or ()))}; see `{self.prog} --help`")
        raise BadValue(f"{message.removeprefix('argument ')}; see `{self.prog} --help`")


def parse(parser: Parser, args: Sequence[str]) -> argparse.Namespace:
    """Parse; an option that does not exist gets its nearest matches."""
    options, rest = parser.parse_known_args(args)
    for extra in rest:
        if extra.startswith("--"):
            known = [text for action in parser._actions for text in action.option_strings if text.startswith("--")]
            raise unknown(f"option of `{parser.prog}`", extra.split("=")[0], known)
        parser.error(f"unexpected argument {extra!r}")
    return options
