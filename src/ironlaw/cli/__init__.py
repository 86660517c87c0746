"""The command line. One file per command; each has EXAMPLE, `add(parser)` and `run(args)`.

Only the command in use is imported, and rich only when a table is drawn, so that `--help` answers at once; a shell that completes a
line is answered without any of them.
With --json an error is an object on standard output too.
Exit codes: 0 success, 1 a failed validation or a file that can't be written, 2 bad input, 70 an internal error,
130 Ctrl-C, 141 a closed pipe.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from ironlaw.errors import IronlawError, unknown
from ironlaw.version import __version__

if TYPE_CHECKING:
    from ironlaw.cli.command_parser import Parser

ERROR = "ironlaw-error/1"  # the schema of an error under --json
COMMANDS = {
    "predict": "how long a model takes on a machine, and where the time goes",
    "analyze": "where the time goes in your own PyTorch model, and what to change, without running it",
    "diff": "what changed between two predictions, by operator; a gate for CI",
    "coverage": "how much of a prediction was measured, and what to measure next",
    "hardware": "the machines in the registry, every figure with its source",
    "workload": "the models in the registry: parameters, FLOPs, bytes, operators",
    "roofline": "the best speed a machine can reach for given work and bytes",
    "breakeven": "how many calls it takes for compiling to pay for itself",
    "scale": "how far more workers speed up a job, and where they stop helping",
    "queue": "how long requests wait and how busy servers are, batched or not",
    "capacity": "how many GPUs a language model needs to serve your traffic within an SLO, and what it costs",
    "quantise": "what fewer bits or fewer weights cost in noise and save in bytes",
    "fuse": "which operators fuse into one kernel, and why others can't",
    "memory": "what a training step holds in memory, and what would make it fit",
    "cluster": "how to spread training over many GPUs: time, memory, failures",
    "study": "one question over many settings, on all cores or a Dask cluster",
    "privacy": "the (ε, δ) that private training guarantees, by five accountants",
    "slo": "what users see of a chain of services: latency and availability",
    "levers": "which input matters most, and the cheapest way to meet a limit",
    "claims": "common claims about ML systems, recomputed and judged",
    "schema": "what --json writes, as JSON Schema",
    "completion": "TAB completion for bash, zsh and fish",
    "measure": "measure this machine, or a model on it, and keep the evidence",
    "validate": "how far predictions are from measurements, and which claims hold",
    "labs": "open the labs in a browser",
    "lab": "write a lab of your own: start from a template, then check it",
    "review": "the cards that are due, and how well calibrated you are",
    "ledger": "your predictions and designs from the labs: show, back up, move",
    "class": "a report on a class, from the ledgers its students handed in",
    "site": "the labs as a folder for any web host, even offline",
}

ALIASES = {"serve": "capacity"}  # names that commands had


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no exception gets out."""
    args = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without µ shows ?, and does not end the run
    if sys.stdout is None:  # closed by whoever started us: what can't be written is not done
        sys.stdout = _Closed()
    complain = _complain_in_json if "--json" in args else _complain
    try:
        code = _run(args)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe can still be handled quietly
    except IronlawError as error:
        return complain(str(error), 2, error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        code = complain(f"{error.strerror or error}{place}; check the file or disk, then run it again", 1, error)
        _drop_output()
    except Exception as error:
        if os.environ.get("IRONLAW_DEBUG"):
            raise
        return complain(
            f"internal error ({type(error).__name__}: {error}). Please report it with the command you ran;"
            " IRONLAW_DEBUG=1 before the command shows where it happened.",
            70,
            error,
        )
    return code


def parser(command: str = "") -> Parser:
    """The parser of one command, or of `ironlaw` itself."""
    from ironlaw.cli.command_parser import Parser

    if command:
        module = import_module(f"ironlaw.cli.{command}")
        command_parser = Parser(
            prog=f"ironlaw {command}", description=_sentence(COMMANDS[command]), epilog=f"example:\n{_indent(module.EXAMPLE)}"
        )
        module.add(command_parser)
        return command_parser
    listing = "\n".join(f"  {name:<12}{summary}" for name, summary in COMMANDS.items())
    top = Parser(
        prog="ironlaw",
        usage="ironlaw COMMAND [options]",
        description="Where the time goes in an ML system: T = D/BW + O/R + L, per operator, with sourced figures.\n\n"
        f"commands:\n{listing}\n\n`ironlaw COMMAND --help` shows a command's options and an example.",
        epilog="example:\n  ironlaw predict resnet50 --on h100_sxm,t4 --mode eager,compiled",
    )
    top.add_argument("--version", action="version", version=f"ironlaw {__version__}")
    return top


def _run(args: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from ironlaw.cli.completion_server import answer

        answer(COMMANDS, ALIASES)
    from ironlaw.cli.command_parser import parse, spelling

    name = ALIASES.get(args[0], args[0]) if args else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    own = parser(name if name in COMMANDS else "")
    with spelling(own):
        try:
            options = parse(own, args[1:] if name in COMMANDS else args)
        except SystemExit as done:  # argparse ends --help and --version this way
            return int(done.code or 0)
        if name not in COMMANDS:
            own.print_help()
            return 0
        return int(import_module(f"ironlaw.cli.{name}").run(options) or 0)


def _complain(message: str, code: int, error: Exception) -> int:
    if sys.stderr is not None:
        from ironlaw.cli.show.plain import clean

        print("ironlaw:", clean(" ".join(message.split())), file=sys.stderr)
    return code


def _complain_in_json(message: str, code: int, error: Exception) -> int:
    """The same words as an object on standard output, for whoever reads that."""
    from ironlaw.cli.show import draw

    about = {"kind": type(error).__name__, "message": " ".join(message.split()), "field": getattr(error, "field", "") or None}
    with suppress(OSError, ValueError):  # where nobody reads it, standard error still says it
        draw.emit({"error": about, "exit_code": code}, ERROR)
        sys.stdout.flush()
    return _complain(message, code, error)


class _Closed(io.TextIOBase):
    """Standard output that is not there."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _drop_output() -> None:
    # or the interpreter would flush into the same closed pipe (or full disk) again at exit, and complain
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.strip().splitlines())
