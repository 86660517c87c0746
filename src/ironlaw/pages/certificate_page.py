"""The certificate as a page to read and to print: predictions, calibration, designs, measurements, and the head of the chain."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ironlaw import lab_names
from ironlaw.pages.calibration_picture import calibration_picture
from ironlaw.pages.certificate_rows import designs, goals, measurements, predictions
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.pages.page_templates import fill, sentence
from ironlaw.recall.confidence import EVEN_ODDS
from ironlaw.units import counted

ADDRESS, FILE = "/certificate", "/certificate.json"
READING = "<p>Reading the ledger in this browser …</p>"
NAMELESS = "An unnamed learner"
CODE, MARKED = re.compile("`([^`]*)`"), r"<code>\1</code>"
FEW = 20  # predictions under which the page says so


def text(certificate: Mapping[str, Any]) -> str:
    """The file."""
    return json.dumps(certificate, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def file_name(certificate: Mapping[str, Any]) -> str:
    return f"ironlaw-certificate-{certificate['issued'][:10]}.json"


def page(certificate: Mapping[str, Any], labs: Sequence[Lab]) -> str:
    """`labs`: the course as it is here; what the ledger has of others is shown by the names that it uses."""
    if not certificate["labs"]:
        return _fill("<p>Nothing has been committed yet.</p>", empty(labs))
    here = {lab.slug: lab for lab in labs}
    listed = sorted(certificate["labs"], key=lambda entry: lab_names.order(entry["lab"]))
    parts = [
        ("predictions", "Predictions", predictions(listed, here)),
        ("calibration", "Calibration", calibration(certificate["calibration"], certificate["review"])),
        ("designs", "Designs", designs(listed, here)),
        ("measured", "Measured on the learner’s machine", measurements(certificate["measured"])),
        ("chain", "The ledger behind it", chain(certificate)),
    ]
    body = "".join(f'<section id="{id}"><h2>{title}</h2>{inner}</section>' for id, title, inner in parts)
    return _fill(lead(certificate, labs), ACTIONS + body)


def shell(script: str) -> str:
    """The page of the static site before Python is there."""
    return _fill("", READING, script)


def trouble(reason: str) -> str:
    """A ledger that can't be read certifies nothing."""
    return _fill("", f'<p class="banner fail" role="alert"><strong>No certificate.</strong> {sentence(reason)}</p>')


def _fill(lead: str, record: str, script: str = "") -> str:
    return fill("certificate.html", title="certificate", lead=lead, record=record, script=script)


ACTIONS = (
    f'<p class="acts"><a class="button" href="{FILE}" download>Download as JSON</a>'
    '<span class="hint">To print it or save a PDF, use your browser’s print command; it fits A4.</span></p>'
)


def empty(labs: Sequence[Lab]) -> str:
    words = "<p>A certificate sums up what you predict, decide and measure in the labs. This ledger has none yet.</p>"
    first = next((lab for lab in labs if lab.ready), None)
    if first is None:
        return words
    return f'{words}<p><a class="button" href="/lab/{escape(first.slug)}/">Begin with {escape(first.name)}: {escape(first.title)}</a></p>'


def lead(certificate: Mapping[str, Any], labs: Sequence[Lab]) -> str:
    course = [lab.slug for lab in labs if lab_names.volume(lab.slug)]
    saved = [entry for entry in certificate["labs"] if entry["saved"]]
    known = sum(entry["lab"] in course for entry in saved)
    others = f", and {len(saved) - known} that this version of ironlaw does not have" if len(saved) > known else ""
    first, last = certificate["first"][:10], certificate["last"][:10]
    when = f"on {first}" if first == last else f"from {first} to {last}"
    curve, resets = certificate["calibration"], certificate["resets"]
    again = f" Started over {'once' if resets == 1 else f'{resets} times'}; the first answer to each question counts." if resets else ""
    came = sum(each["events"] for each in certificate["imported"])
    again += f" {counted(came, 'event')} of {certificate['chain']['events']:,} came from other ledgers." if came else ""
    held = [each for entry in saved for each in goals(entry["design"])]
    met = f" Designs that meet their goal: {sum(each.get('meets') is True for each in held)} of {len(held)}." if held else ""
    return (
        f'<p class="who">{escape(certificate["learner"]["name"] or NAMELESS)}</p>'
        f'<p class="lead">{known} of {len(course)} labs saved{others}, {when}. {counted(curve["predictions"], "prediction")} committed'
        f" before the answer was shown.{met}{again}</p>"
    )


def calibration(curve: Mapping[str, Any], review: Mapping[str, Any]) -> str:
    score = curve["brier"]
    if score is None:
        return "<p>No predictions so far, so there is nothing to calibrate.</p>"
    cards = f" The review’s cards: {review['right']} of {review['answers']} answers right." if review["answers"] else ""
    few = " There are few answers, so the intervals are wide." if curve["predictions"] < FEW else ""
    parts = f"reliability {score['reliability']:.3f} − resolution {score['resolution']:.3f} + uncertainty {score['uncertainty']:.3f}"
    return (
        f'<div class="calibrated">{calibration_picture(curve["levels"])}<div>'
        "<p>Each point is one level of confidence; levels 1 to 5 stand for 25, 45, 65, 80 and 95%. It shows how often answers at that level"
        f" were right, with a 95% interval. On the dashed line the two agree; below it the learner was too sure.{few}</p>"
        f"<p>Brier score <b>{score['score']:.3f}</b>: {parts}."
        f" 0 means always sure and always right; saying 50% every time scores {EVEN_ODDS:.3f}.{cards}</p></div></div>"
    )


def chain(certificate: Mapping[str, Any]) -> str:
    stated, issued = certificate["chain"], certificate["issued"][:16].replace("T", " ")
    return (
        f"<p>{counted(stated['events'], 'event')} since {stated['since'][:10]}; issued {issued} UTC. The chain ends with</p>"
        f'<p><code class="head">{escape(stated["head"])}</code></p>'
        '<p class="hint">To check it, download the JSON and run <code>ironlaw ledger verify certificate.json</code> where the ledger is,'
        " or with <code>--against export.json</code> anywhere. It computes every figure again from the events, whose last hash must be this"
        f" one.</p>{imported(certificate['imported'])}<h3>What this proves</h3>{_list(certificate['proves'])}"
        f"<h3>What it does not prove</h3>{_list(certificate['does_not_prove'])}"
    )


def imported(entries: Sequence[Mapping[str, Any]]) -> str:
    """What came from other ledgers, above everything that it counts in."""
    if not entries:
        return ""
    rows = "".join(
        f"<li>{counted(each['events'], 'event')}, {counted(each['predictions'], 'prediction')} among them, from the ledger"
        f" <code>{escape(each['learner'])}</code></li>"
        for each in entries
    )
    return f"<p>Part of this was imported, and whose ledger it was can’t be checked:</p><ul>{rows}</ul>"


def _list(sentences: Sequence[str]) -> str:
    """Sentences with `code` in them."""
    return f"<ul>{''.join(f'<li>{CODE.sub(MARKED, escape(each))}</li>' for each in sentences)}</ul>"
