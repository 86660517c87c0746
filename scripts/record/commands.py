"""The command line: every example of docs/cli.md, also with `--json` where the command takes it; help, schemas, and the shell's grammar."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import seams
from book import Book
from seams import run

EXAMPLE = re.compile(r"^  (ironlaw .+)$", re.MULTILINE)
# they start a server, measure this machine, write a whole site, or check every lab, which tests/labs does
LEFT_OUT = ("ironlaw labs", "ironlaw measure", "ironlaw site", "ironlaw lab check")
LONG = ("coverage", "coverage --on h200_sxm --dtype fp32 --families 20")  # most of a minute each: as JSON alone
DESIGNS = ("privacy", "slo", "levers")
PSEUDONYM = re.compile(r"\blearner [A-Z0-9]{4}\b")  # drawn anew in every home
MODEL = """import torch
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10)
)
"""
STUDY = '[study]\nquestion = "predict"\n[over]\nmodel = "mlp8_1024"\nhardware = ["t4", "h100"]\nbatch = { from = 1, to = 4, times = 2 }\n'


def examples() -> list[str]:
    """The lines of docs/cli.md, each once."""
    listed = EXAMPLE.findall((seams.ROOT / "docs/cli.md").read_text(encoding="utf-8"))
    kept = [line.removeprefix("ironlaw ") for line in dict.fromkeys(listed) if not line.startswith(LEFT_OUT)]
    return [line for line in kept if "--dask" not in line]


def commands() -> list[str]:
    """As `ironlaw --help` lists them."""
    return re.findall(r"^  (\w+) +\S", run(["--help"])[1].partition("commands:\n")[2].partition("\n\n")[0], re.MULTILINE)


def ask(book: Book, key: str, argv: list[str]) -> None:
    code, out, err = run(argv)
    book.keep(key, {"exit": code, "out": _read(out), "err": err})


def _read(out: str) -> Any:
    """JSON by its content: the order of keys and the space between them are not promised."""
    out = PSEUDONYM.sub("learner <pseudonym>", out)
    try:
        return json.loads(out)
    except ValueError:
        return out


def record_examples(book: Book, lines: list[str], ledger: dict[str, Any] | None) -> None:
    """In a folder with the files that the examples name, and a home with a ledger."""
    takes_json = {command for command in {line.split()[0] for line in lines} if "--json" in run([command, "--help"])[1]}
    for number, line in enumerate(lines):
        command, *argv = _words(line)
        if not find_spec("torch") and any(word.startswith(("my.py", "hf:")) for word in argv):
            continue
        ways = ("plain", "json") if command in takes_json and "--json" not in argv else ("plain",)
        for way in ways if line not in LONG else ("json",):
            folder = book.place / f"example {number} {way}"
            with _prepared(folder, command, ledger), chdir(folder):
                ask(book, f"cli/{line}/{way}", [command, *argv, *(["--json"] if way == "json" else [])])
                written = {place.name: place.read_text(errors="replace") for place in sorted(folder.glob("*.html"))}
                if written:
                    book.keep(f"cli/{line}/{way}/files", written)


def _words(line: str) -> list[str]:
    """Of a line of the shell, up to where its output goes."""
    words = shlex.split(line)
    return words[: words.index(">>")] if ">>" in words else words


class _prepared:
    """What the examples need, and a home of their own."""

    def __init__(self, folder: Path, command: str, ledger: dict[str, Any] | None) -> None:
        self.folder, self.command, self.ledger = folder, command, ledger

    def __enter__(self) -> None:
        self.before = os.environ["IRONLAW_HOME"]
        self.folder.mkdir(parents=True)
        os.environ["IRONLAW_HOME"] = str(self.folder / "home")
        with chdir(self.folder):
            for name, text in _files(self.command, self.ledger):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text(text, encoding="utf-8")
            if self.command in ("ledger", "review") and self.ledger is not None:
                run(["ledger", "import", "all.json"])
            if self.command == "study":
                run(["study", "study.toml", "--jobs", "1"])

    def __exit__(self, *_: object) -> None:
        os.environ["IRONLAW_HOME"] = self.before


def _files(command: str, ledger: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if command in ("analyze", "coverage", "memory"):
        yield "my.py", MODEL
    elif command == "study":
        yield "study.toml", STUDY
    elif command in DESIGNS:
        yield "design.toml", run([command, "--example"])[1]
    elif command == "diff":
        yield "old.json", run(["predict", "resnet50", "--on", "h100", "--json"])[1]
        yield "new.json", run(["predict", "resnet50", "--on", "h100", "--launch", "12 us", "--json"])[1]
    elif command in ("ledger", "review", "class") and ledger is not None:
        yield ("handed-in/one.json" if command == "class" else "all.json"), json.dumps(ledger)


def record_help(book: Book) -> None:
    for command in ("", *commands()):
        book.keep(f"help/{command or 'ironlaw'}", {"out": run([*([command] if command else []), "--help"])[1]})


def record_schemas(book: Book) -> None:
    """By the command that prints them, so that it does not matter where they come from."""
    for name in sorted(set(re.findall(r"ironlaw-([\w-]+)/\d+", run(["schema"])[1]))):
        ask(book, f"schemas/{name}", ["schema", name])


def _without_help(node: Any) -> Any:
    """Words may change, and are in the group `help`."""
    if isinstance(node, list):
        return [_without_help(item) for item in node]
    return {key: _without_help(item) for key, item in node.items() if key != "help"} if isinstance(node, dict) else node


def record_grammar(book: Book) -> None:
    """Every command's options and what each takes, as a shell completes them."""
    (text,) = (write() for name, write in seams.pages().items() if name.endswith("grammar.json"))
    for command, options in json.loads(text).items():
        book.keep(f"grammar/{command}", {"options": _without_help(options)})
    for shell in ("bash", "zsh", "fish"):
        ask(book, f"grammar/completion {shell}", ["completion", shell])
