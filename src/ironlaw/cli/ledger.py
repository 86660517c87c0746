"""`ironlaw ledger`: what the ledger holds, where it is stored, and how to move it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json
from ironlaw.cli.show import draw
from ironlaw.errors import BadExport, BadValue, EditedExport, LedgerDamaged, unknown
from ironlaw.files import output, replace_text
from ironlaw.units import counted
from ironlaw.version import __version__

if TYPE_CHECKING:
    from ironlaw.ledger import Event, Ledger

EXAMPLE = """
ironlaw ledger show
ironlaw ledger show --lab lab_01_magnitude --json
ironlaw ledger export
ironlaw ledger verify
ironlaw ledger certificate
ironlaw ledger path
"""

OPTIONS = (
    ("file", "FILE"), ("lab", "--lab"), ("force", "--force"), ("rescue", "--rescue"), ("against", "--against"), ("json", "--json"),
)  # fmt: skip
MOST_FAULTS = 5  # of a certificate, that are named
WIDEST = 100  # characters of an event's content in the table


def add(parser: Parser) -> None:
    parser.usage = "\n".join(
        f"ironlaw ledger {act}"
        for act in (
            "show [--lab LAB] [--json]",
            "export [FILE] [--force] [--rescue]",
            "import FILE",
            "certificate [FILE] [--force]",
            "verify [FILE] [--against FILE]",
            "repair | reset | path",
        )
    )
    parser.add_argument(
        "act",
        metavar="ACTION",
        nargs="?",
        help="show: progress in each lab; export: all events of all epochs as JSON; import: add the events of an export"
        " that are not here yet; certificate: predictions, calibration, designs and measurements as JSON; verify: check that no"
        " event in the ledger or an export was changed, or that a certificate follows from the ledger; repair: set a damaged"
        " ledger aside and carry over what can be read; reset: start over, with nothing deleted; path: where the ledger is stored",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="file to write, import or verify; - is standard output or input; standard output is the default",
    )
    parser.add_argument("--lab", metavar="LAB", help="with show: the events of one lab since the last reset")
    parser.add_argument("--force", action="store_true", help="with export and certificate: replace an existing file")
    parser.add_argument("--against", metavar="FILE", help="with verify: check a certificate against this export instead of the ledger here")
    parser.add_argument("--rescue", action="store_true", help="with export: write what can still be read of a damaged ledger")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.act is None:
        raise BadValue(f"`ironlaw ledger` needs one of {', '.join(ACTS)}; see `ironlaw ledger --help`")
    if args.act not in ACTS:
        raise unknown("act of `ironlaw ledger`", args.act, ACTS)
    allowed, act = ACTS[args.act]
    for name, option in OPTIONS:
        if getattr(args, name) not in (None, False) and name not in allowed:
            raise BadValue(f"`ironlaw ledger {args.act}` takes no {option}; see `ironlaw ledger --help`")
    act(args)
    return 0


def path(args: argparse.Namespace) -> None:
    from ironlaw.ledger import where

    print(where())


def show(args: argparse.Namespace) -> None:
    with _open() as ledger:
        if args.lab:
            events = ledger.events(args.lab)
            if args.json:
                draw.emit({"lab": args.lab, "events": [asdict(event) for event in events]}, "ironlaw-ledger-events/1")
            else:
                _one_lab(args.lab, events)
        else:
            _all_labs(ledger, args.json)


def export(args: argparse.Namespace) -> None:
    target = None if args.file in (None, "-") else _target(args.file, args.force)
    if args.rescue:
        from ironlaw.ledger import rescue

        data, lost = rescue()
        print(f"{len(data['events'])} events can be read; {lost} can't, or were changed", file=sys.stderr)
    else:
        with _open() as ledger:
            data = ledger.export()
    _write(target, data, f"{len(data['events'])} events written to {args.file}")


def certificate(args: argparse.Namespace) -> None:
    from ironlaw.recall.certificate_facts import issue

    target = None if args.file in (None, "-") else _target(args.file, args.force)
    with _open() as ledger:
        issued = issue(ledger.export(), __version__)
    _write(target, issued, f"the certificate of {issued['chain']['events']:,} events written to {args.file}")


def _write(target: Path | None, data: dict[str, Any], message: str) -> None:
    """As JSON to a file, or to standard output where there is none."""
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    if target is None:
        sys.stdout.write(text)
        return
    replace_text(target, text, private=not target.exists())  # a name and every answer: the owner's alone, unless the file was there
    print(message)


def import_(args: argparse.Namespace) -> None:
    if args.file is None:
        raise BadValue("no file to import; name one: ironlaw ledger import FILE")
    data = _read(args.file)
    with _open() as ledger:
        added = ledger.import_(data)
        print(f"{added} new events of {len(data['events'])}, now in {ledger.where()}")


def verify(args: argparse.Namespace) -> None:
    from ironlaw.ledger import export_format, where
    from ironlaw.ledger import verify as examine

    if args.file is not None:
        data = _read(args.file)
        if isinstance(data, dict) and data.get("schema") is not None:
            _verify_certificate(args.file, data, args.against)
            return
        if args.against is not None:
            raise BadValue(f"--against is for a certificate, but {args.file} is an export; verify it without --against")
        events = export_format.unpack(data)
        if data["format"] != export_format.FORMAT:
            raise BadExport(f"{args.file} has {len(events):,} valid events but no chain, so nothing in it can be verified; export it again")
        print(f"{len(events):,} events, each as it was exported; the chain ends with {data['chain']['head']}")
        return
    if args.against is not None:
        raise BadValue("--against needs a certificate to check; name one: ironlaw ledger verify CERTIFICATE --against EXPORT")
    report = examine()
    if report.guards:
        raise LedgerDamaged(
            f"{report.events:,} events, each as it was written, but the ledger is not protected against changes:"
            f" {'; '.join(report.guards)}. `ironlaw ledger repair` puts the protection back"
        )
    print(f"{report.events:,} events in {where()}, each as it was written; the chain ends with {report.head}")


def _verify_certificate(name: str, data: dict[str, Any], against: str | None) -> None:
    from ironlaw.recall.certificate_check import differences

    if against is None:
        with _open() as ledger:
            export, where = ledger.export(), ledger.where()
    else:
        export, where = _read(against), against
    if faults := differences(data, export):
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise EditedExport(
            f"{name} does not follow from {where}: {'; '.join(faults[:MOST_FAULTS])}{more}."
            " Issue it again, or name the export of its own ledger with --against"
        )
    chain = data["chain"]
    covered = _first(chain["events"], len(export["events"]))
    print(f"Every figure in {name} follows from {covered} of {where}; the chain there ends with {chain['head']}")
    for each in data["imported"]:
        what = f"{counted(each['events'], 'event')}, with {counted(each['predictions'], 'prediction')}"
        print(f"Imported from the ledger {each['learner']}: {what}. Whose that is, no file can say.")
    print("Who answered, and when, it can't prove; the file says what else, under does_not_prove.")


def _first(events: int, of: int) -> str:
    return f"all {of:,} events" if events == of else f"the first {events:,} of {of:,} events"


def repair(args: argparse.Namespace) -> None:
    from ironlaw.ledger import repair as put_right

    print(put_right() or "Nothing is damaged: every event is as it was written.")


def reset(args: argparse.Namespace) -> None:
    with _open() as ledger:
        event = ledger.reset()
        print(f"Epoch {event.epoch} has begun: every lab starts afresh. What you did before is kept, and is in every export.")


# What each act takes, and what does it.
ACTS: dict[str, tuple[tuple[str, ...], Callable[[argparse.Namespace], None]]] = {
    "show": (("lab", "json"), show),
    "export": (("file", "force", "rescue"), export),
    "import": (("file",), import_),
    "certificate": (("file", "force"), certificate),
    "verify": (("file", "against"), verify),
    "repair": ((), repair),
    "reset": ((), reset),
    "path": ((), path),
}


def _all_labs(ledger: Ledger, as_json: bool) -> None:
    labs = sorted({event.lab for event in ledger.events() if event.lab})
    progress, designs = {lab: ledger.progress(lab) for lab in labs}, ledger.designs()
    if as_json:
        state = {lab: {**asdict(progress[lab]), "design": designs.get(lab)} for lab in labs}
        learner = {"id": ledger.learner, "name": ledger.learner_name()}
        draw.emit({"where": ledger.where(), "learner": learner, "track": ledger.track(), "labs": state}, "ironlaw-ledger-show/1")
        return
    draw.heading("The Design Ledger", ledger.where())
    if not labs:
        draw.say("No events yet: the labs record them. Open the labs with `ironlaw labs`.")
        return
    rows = [
        (lab, str(done.predictions), str(done.reflections), "saved" if done.saved else "–", _when(done.last_event.time))
        for lab, done in progress.items()
        if done.last_event
    ]
    draw.table(["lab", "predictions", "reflections", "design", "last event (UTC)"], rows, left=("lab", "design"))
    draw.say("`ironlaw ledger show --lab LAB` lists a lab's events; `ironlaw ledger export FILE` makes a backup.", draw.DIM)


def _one_lab(lab: str, events: list[Event]) -> None:
    draw.heading(lab, f"{len(events)} events since the last reset")
    if not events:
        draw.say("None under this name; `ironlaw ledger show` lists the labs that have some.")
        return
    rows = [(_when(event.time), event.kind, str(event.attempt), _brief(event.payload)) for event in events]
    draw.table(["time (UTC)", "kind", "attempt", "content"], rows, left=("time (UTC)", "kind"), text=("content",))


def _when(time: str) -> str:
    return time[:19].replace("T", " ")


def _brief(payload: dict[str, Any]) -> str:
    text = ", ".join(f"{key} {value if isinstance(value, str) else json.dumps(value)}" for key, value in payload.items())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _open() -> Ledger:
    """The ledger; what the learner should know about its state goes to the terminal."""
    from ironlaw.ledger import open_ledger

    ledger = open_ledger()
    if ledger.notice:
        print(ledger.notice, file=sys.stderr)
    return ledger


def _read(name: str) -> Any:
    """An export as JSON."""
    from ironlaw.ledger.export_text import parse

    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return parse(content.decode("utf-8-sig"))
    except OSError as error:
        raise BadExport(f"{name} can't be read ({error.strerror or error}); give a file that `ironlaw ledger export` wrote") from None
    except (ValueError, RecursionError) as error:
        raise BadExport(f"{name} can't be read as JSON ({error}); give a file that `ironlaw ledger export` wrote") from None


def _target(name: str, force: bool) -> Path:
    """Where an export may go: never over the ledger itself, nor over anything that is not a regular file."""
    from ironlaw.ledger.place import place

    own = place().path
    target = output(name, "the export", [f"{own}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")] if own else ())
    if target.exists() and not force:
        raise BadValue(f"{name} exists already; choose another name, or add --force to replace it")
    return target
