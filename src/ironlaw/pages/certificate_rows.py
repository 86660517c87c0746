"""The certificate's rows: what was predicted in each lab, what was saved, what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ironlaw import lab_names
from ironlaw.kit.question_texts import Asked, asked
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.units import counted, joined, show, significant

MOST = 6  # fields of a design, and rows of a measurement, that the page shows; the file has all
UNITS = {"_bytes_per_s": "B/s", "_bytes": "B", "_flops": "FLOP/s", "_s": "s"}  # how the name of a design's field says its unit
OUTCOMES = ("_prediction", "_correct")  # of a design's fields: the table of predictions has them


def predictions(listed: Sequence[Mapping[str, Any]], here: Mapping[str, Lab]) -> str:
    bodies = "".join(_lab(entry, here.get(entry["lab"])) for entry in listed)
    head = "<tr><th>Question</th><th>Predicted</th><th>Sure</th><th>Outcome</th></tr>"
    return f'<table class="predictions"><thead>{head}</thead>{bodies}</table>'


def _lab(entry: Mapping[str, Any], lab: Lab | None) -> str:
    wording = asked(lab.folder) if lab else {}
    state = f'<span class="day">saved {entry["saved"][:10]}</span>' if entry["saved"] else "not saved"
    reflected = entry["reflections"]
    notes = f"{state}; {counted(reflected['answers'], 'reflection')} answered" if reflected["answers"] else state
    rows = "".join(_prediction(one, wording.get(one["question"])) for one in entry["predictions"])
    rows = rows or '<tr><td colspan="4" class="unit">opened, nothing predicted yet</td></tr>'
    head = f'{escape(title_of(entry["lab"], lab))} <span class="unit">{notes}</span>'
    return f'<tbody><tr class="lab-row"><th colspan="4">{head}</th></tr>{rows}</tbody>'


def _prediction(one: Mapping[str, Any], wording: Asked | None) -> str:
    question = (wording and wording.line) or lab_names.act(one["question"])
    choice = wording.options.get(one["choice"], one["choice"]) if wording else one["choice"]
    outcome = "as predicted" if one["correct"] else "not as predicted"
    return (
        f"<tr><td>{escape(question)}</td><td>{escape(choice)}</td>"
        f'<td class="sure">{one["confidence"]}<span class="unit"> of 5</span></td><td>{outcome}</td></tr>'
    )


def designs(listed: Sequence[Mapping[str, Any]], here: Mapping[str, Lab]) -> str:
    saved = [entry for entry in listed if entry["design"] is not None]
    if not saved:
        return "<p>No design is saved yet. A lab’s last step saves one.</p>"
    rows = "".join(
        f"<div><dt>{escape(title_of(entry['lab'], here.get(entry['lab'])))}</dt><dd>{_design(entry['design'])}</dd></div>"
        for entry in saved
    )
    return f'<dl class="rows">{rows}</dl>'


def goals(design: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """What a saved design says of its goals; one of an earlier version says nothing."""
    held = design.get("goals") if design else None
    return [each for each in held.values() if isinstance(each, dict)] if isinstance(held, dict) else []


def _design(design: Mapping[str, Any]) -> str:
    held = goals(design)
    if not held:
        return _fields(design)
    return " ".join(f"{escape(str(each.get('built', '')))}. <b>{_outcome(each)}.</b>" for each in held)


def _outcome(held: Mapping[str, Any]) -> str:
    return "✓ Meets the goal" if held.get("meets") is True else f"Does not meet the goal ({escape(_inside(str(held.get('title', ''))))})"


def _inside(title: str) -> str:
    """A title inside a sentence: `Too little profit` begins small, `P99 is too high` does not."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def _fields(design: Mapping[str, Any]) -> str:
    plain = dict(
        field(name, value)
        for name, value in design.items()
        if isinstance(value, (str, int, float)) and value != "" and not name.endswith(OUTCOMES)
    )
    shown = [f"{escape(name)} <b>{escape(value)}</b>" for name, value in list(plain.items())[:MOST]]
    return "; ".join(shown) + _more(len(plain) - MOST) if shown else "saved; its fields are in the file"


def field(name: str, value: str | float) -> tuple[str, str]:
    """`restart_s`, 300 -> restart, 5 min; a count stays as it is."""
    if isinstance(value, str):
        return name.replace("_", " "), value
    if isinstance(value, bool):
        return name.replace("_", " "), "yes" if value else "no"
    suffix = next((each for each in UNITS if name.endswith(each) and not (each == "_s" and name.endswith("_per_s"))), "")
    figure = show(value, UNITS[suffix]) if suffix else f"{value:,}" if isinstance(value, int) else significant(value)
    return name.removesuffix(suffix).replace("_", " "), figure


def _more(count: int) -> str:
    return f"; {count} more in the file" if count > 0 else ""


def measurements(runs: Sequence[Mapping[str, Any]]) -> str:
    if not runs:
        return "<p>Nothing so far. The labs’ experiments run on an installed ironlaw.</p>"
    return f'<dl class="rows">{"".join(map(_run, runs))}</dl>'


def _run(run: Mapping[str, Any]) -> str:
    rows = "; ".join(f"{escape(row['name'])} <b>{escape(_figure(row))}</b>" for row in run["rows"][:MOST])
    where = ", ".join(escape(part) for part in (run["machine"], run["library"], run["time"][:10]) if part)
    noisy = "; the machine was busy" if run["noisy"] else ""
    name = f"{escape(run['experiment'].replace('_', ' '))}, {lab_names.name(run['lab']) or escape(run['lab'])}"
    return f'<div><dt>{name}</dt><dd>{rows}{_more(len(run["rows"]) - MOST)}. <span class="unit">{where}{noisy}</span></dd></div>'


def _figure(row: Mapping[str, Any]) -> str:
    return show(row["value"], "s") if row["unit"] == "s" else joined(significant(row["value"]), row["unit"])


def title_of(slug: str, lab: Lab | None) -> str:
    return f"{lab.name} · {lab.title}" if lab else lab_names.name(slug) or slug
