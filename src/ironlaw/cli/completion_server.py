"""What a shell offers when TAB is pressed. It asks `ironlaw` itself, by argcomplete's protocol, and must get its answer at once:
the options come from grammar.json, the names from the registry's folders, and no command is imported."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from ironlaw.registry.loader import slugs

LABS = Path(__file__).parent.parent / "labs"
# what the registry does not list, beside what it does
BESIDE = {"hardware": ("this",), "host": ("here",), "engine": ("plain",)}
FILES = ("file", "target", "trace")  # paths, too


def answer(commands: Mapping[str, str], aliases: Mapping[str, str]) -> None:
    """Write what may stand at the cursor to where the shell reads it, and end the process."""
    from argcomplete import autocomplete
    from argcomplete.completers import SuppressCompleter

    autocomplete(parser(commands, aliases), always_complete_options="long", default_completer=SuppressCompleter())


def parser(commands: Mapping[str, str], aliases: Mapping[str, str]) -> argparse.ArgumentParser:
    """All commands in one parser that reads nothing, only knows what may come next."""
    grammar = json.loads((files("ironlaw.cli") / "grammar.json").read_text(encoding="utf-8"))
    top = argparse.ArgumentParser(prog="ironlaw", allow_abbrev=False)
    top.add_argument("--version", action="store_true")
    under = top.add_subparsers()
    for name, summary in commands.items():
        others = [other for other, own in aliases.items() if own == name]
        command = under.add_parser(name, help=summary, aliases=others, add_help=False, allow_abbrev=False)
        for option in grammar.get(name, ()):
            _add(command, option)
    return top


def _add(command: argparse.ArgumentParser, option: Mapping[str, Any]) -> None:
    how = {"action": "store_true"} if option["nargs"] == 0 else {"nargs": option["nargs"]}
    action: Any = command.add_argument(*option["names"], help=option["help"], **how)
    if "takes" in option:
        action.completer = completer(option["takes"], option.get("list", False))


def completer(takes: str | list[str], several: bool) -> Callable[..., list[str]]:
    """`several`: separated by commas; what was named already is not offered again."""

    def complete(prefix: str, **_: Any) -> list[str]:
        before, comma, last = prefix.rpartition(",") if several else ("", "", prefix)
        chosen = before.split(",")
        return [before + comma + word for word in _words(takes, last) if word not in chosen]

    return complete


def _words(takes: str | list[str], prefix: str) -> Iterator[str]:
    if not isinstance(takes, str):
        yield from takes
        return
    if takes == "price":
        yield from (f"{slug}=" for slug in slugs("hardware"))
    elif takes == "lab":
        yield from sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
    else:
        yield from (*slugs("workload" if takes == "target" else takes), *BESIDE.get(takes, ()))
    if takes in FILES:
        from argcomplete.completers import FilesCompleter

        yield from FilesCompleter()(prefix)
