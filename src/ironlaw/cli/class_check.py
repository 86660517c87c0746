"""`ironlaw class assign` and `ironlaw class check`: what is asked for, and who has done it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ironlaw import lab_names
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue

ASSIGNMENT = "assignment.json"
OUT = "class-check"
MOST_ROWS = 200


def assign(args: argparse.Namespace) -> int:
    from ironlaw.classroom import assignment
    from ironlaw.files import output, replace_text

    if args.folder is None:
        raise BadValue("which file holds the assignment? Name it: ironlaw class assign labs.toml")
    source = Path(args.folder)
    asked = assignment.from_toml(source)
    place = output(args.out or ASSIGNMENT, "the assignment", inputs=[source], accepts=lambda head: assignment.FORMAT.encode() in head)
    replace_text(place, asked.text())
    draw.heading("Assignment", asked.title)
    acts = {(1,): "Act I", (2,): "Act II", (1, 2): "both acts"}
    rows = [(lab_names.name(one.slug) or one.slug, acts[one.acts]) for one in asked.labs]
    if asked.questions:
        rows.append((f"own questions ({asked.questions.slug})", f"{asked.questions.acts:,}"))
    draw.table(["lab", "acts"], rows, left=("lab", "acts"))
    draw.say(f"Until {asked.until[:16].replace('T', ' ')} UTC." if asked.until else "There is no deadline.")
    draw.say(f"{args.out or ASSIGNMENT}: for `ironlaw site OUT --scorm FILE --assignment` and `ironlaw class check`.")
    if asked.questions:
        draw.say(f"The questions are a lab of their own: try it with `IRONLAW_LABS={args.out or ASSIGNMENT} ironlaw labs`.")
    return 0


def check(args: argparse.Namespace) -> int:
    from ironlaw.classroom import assignment, collect, done, grades, roster
    from ironlaw.files import output, replace_text

    if args.folder is None:
        raise BadValue("which folder holds the hand-ins? Name it: ironlaw class check FOLDER --assignment assignment.json")
    if args.assignment is None:
        raise BadValue("`ironlaw class check` needs the assignment; give it with --assignment assignment.json")
    if not 0 < args.points <= 1e6:  # also not a number
        raise BadValue(f"`points={args.points:g}` has to be above 0 and at most a million; leave it out for 100")
    place = Path(args.assignment)
    asked = assignment.read(place) if place.suffix == ".toml" else assignment.adopt(place)
    listed = roster.read(Path(args.roster)) if args.roster else None
    folder, out = Path(args.folder), Path(args.out or OUT)
    inputs = [args.assignment, *([args.roster] if args.roster else [])]
    places = {name: output(out / name, "the list", inputs=inputs) for name in (grades.DONE, *([grades.file_of(listed)] if listed else []))}
    hand_ins = collect(folder, skip=out)
    standings = [done.standing(one, asked) for one in hand_ins.ledgers]
    vouched = list(grades.certificates(folder, hand_ins))
    found, left = roster.match(listed, hand_ins.ledgers) if listed else ({}, [])
    certified = {owner: "differs" if wrong else "follows from the ledger" for _, owner, wrong in vouched if owner}
    try:
        out.mkdir(parents=True, exist_ok=True)
        reasons = {one.file: reason for one, reason in left}
        replace_text(places[grades.DONE], grades.done(standings, asked, reasons, certified), private=True)
        if listed:
            by_file = {one.hand_in.file: one for one in standings}
            graded = {place: by_file[one.file] for place, one in found.items()}
            replace_text(places[grades.file_of(listed)], grades.grades(listed, graded, asked.title, args.points), private=True)
    except OSError as error:
        raise BadValue(f"cannot write to {out} ({error.strerror or error}); name another folder with --out") from None
    whole = sum(one.done == one.asked for one in standings)
    draw.heading(asked.title, f"{whole:,} of {len(standings):,} have done all of it")
    _list(["ledger", "done"], [(one.hand_in.name or one.hand_in.file, done.words(one, asked, lab_names.name)) for one in standings])
    _list(["not counted", "why"], [(one.file, one.words()) for one in hand_ins.refused if one.file not in {file for file, *_ in vouched}])
    _list(["not graded", "why"], [(one.file, reason) for one, reason in left])
    _list(
        ["certificate", "verdict"], [(file, "; ".join(wrong[:3]) if wrong else f"follows from {owner}") for file, owner, wrong in vouched]
    )
    if listed:
        graded_words = f"{len(found):,} of {len(listed.students):,} students have a grade"
        draw.say(f"{out / grades.file_of(listed)}: {graded_words}; import it into {listed.system.name}.")
    draw.say(f"{out / grades.DONE}: when each act was done.")
    return 0


def _list(columns: list[str], rows: list[tuple[str, str]]) -> None:
    if rows:
        draw.table(columns, rows[:MOST_ROWS], left=(columns[0],), text=(columns[1],))
        if len(rows) > MOST_ROWS:
            draw.say(f"… and {len(rows) - MOST_ROWS:,} more")
