"""What stands around the acts of a lab: the header, the rail, the context, the way on, saving, the end and the HUD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadValue, sentence
from ironlaw.kit import context, journey, page_host, prose
from ironlaw.kit import header as headings
from ironlaw.kit import hud as huds
from ironlaw.kit import rail as rails
from ironlaw.kit import save as saves
from ironlaw.kit.banner import ledger_notice, notice
from ironlaw.kit.hud import Item
from ironlaw.kit.journey import Place
from ironlaw.kit.lab import Design, Lab, Slots
from ironlaw.kit.rail import Act, Step
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

if TYPE_CHECKING:
    from ironlaw.kit.goal import Design as BuiltDesign


def header(lab: Lab) -> Any:
    words = lab.words
    text = headings.header(lab.name, words["title"], words["sentence"], int(lab.sheet.lab["minutes"]), words["read_first"])
    if lab.trouble:
        text += notice(
            "fail", "The ledger can't be opened", prose.html(f"{sentence(lab.trouble)}\n\nYou can read on, but nothing will be saved.")
        )
    text += ledger_notice(lab.ledger)
    return page_host.html(text + follower(lab))


def follower(lab: Lab) -> str:
    """HTML of the piece that keeps windows together: one tells the others how much the ledger holds, and they look."""

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if state.get("look"):
            lab.catch_up()
        return {"stamp": lab.progress.stamp}

    return str(lab.element("follow", Piece("follow", {"id": "follow", "lab": lab.slug}, compute)))


def rail(lab: Lab) -> Any:
    acts = []
    for act, listed in lab.progress.acts().items():
        title = "" if act == journey.END else lab.words[f"{act}.title"]
        steps = [Step(place.anchor, place.label, lab.progress.state(place.name)) for place in listed]
        if act == journey.END and lab.further:
            steps.append(Step(journey.FURTHER, "Go further", "open" if lab.is_open(journey.END) else "locked"))
        acts.append(Act(title.partition(":")[0], tuple(steps)))
    return page_host.html(rails.rail(acts))


def toggle(lab: Lab, instrument: str) -> str:
    """HTML of the context in the head of an instrument; empty where there is nothing to choose, and unseen while that is locked."""
    if len(lab.contexts) < 2:
        return ""
    piece = context.toggle(f"{instrument}.context", lab.words["context"], lab.contexts, lab.current_context, lab.choose)
    lab.instruments[instrument].heads(piece)
    return f'<div class="il-context">{lab.element(f"{instrument}.context", piece)}</div>'


def go_on(lab: Lab, name: str) -> str:
    """HTML of the button that leads from a place to the next one; empty where a commit or an answer leads on."""
    progress = lab.progress
    if progress.is_further(name):
        return ""
    place, to = lab.places[progress.index(name)], progress.after(name)
    if to is None or journey.commits(place, lab.questions):
        return ""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(state) and progress.index(name) >= progress.reached:
            lab.ledger.append(lab.slug, "step", {"step": name})
            lab.changed()
        return {"done": progress.index(name) < progress.reached}

    piece = Piece("next", {"id": f"{name}.next", "label": _lead(lab, to), "to": to.anchor}, compute)
    return str(lab.element(f"{name}.next", piece))


def _lead(lab: Lab, to: Place) -> str:
    if to.part == "lock":
        title = str(lab.words[f"{to.act}.title"])
        return f"Go on to {title if title.startswith('Act ') else title[:1].lower() + title[1:]}"
    if to.part == "claims" and to.act in lab.claims:
        from ironlaw.kit.claim_panel import any_measured  # here: a page that opens needs no claims

        return journey.CLAIMS_LEAD[any_measured(lab.claims[to.act]())]
    own = f"{to.name}.lead"
    return lab.words[own] if own in lab.words else journey.LEADS.get(to.part, f"Next: {to.label}")


# --- saving


def designed(lab: Lab, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A lab's own fields, where its dials stand, and whether that meets the goal of each act that has one."""
    dials = {name: dict(instrument.values) for name, instrument in lab.instruments.items() if instrument.values}
    return {**fields, "dials": dials, "goals": {name: design.stored() for name, design in built(lab).items()}}


def built(lab: Lab) -> dict[str, BuiltDesign]:
    """Instrument -> the design on its dials, held against its goal; those that are open."""
    if lab.built_now is not None:
        return lab.built_now
    return {name: design for name, aim in lab.aims.items() if (design := aim.design) is not None}


def receipt(lab: Lab, fields: Mapping[str, Any]) -> saves.Receipt:
    """What the HUD says: saved or not, and whether the controls have moved since."""
    return saves.receipt(lab.ledger, lab.progress.design, designed(lab, fields), lab.trouble)


def _task(text: str) -> str:
    """The task as the receipt shows it, beside the words “Your task”."""
    own = text.strip().removeprefix("Your task: ")
    return own[:1].upper() + own[1:]


def save_button(lab: Lab, fields: Design) -> str:
    """HTML of the one control that writes a design."""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(state):
            if not lab.record.complete:
                raise BadValue("Answer every question first; then there is a design to save.")
            lab.ledger.append(lab.slug, "design", designed(lab, fields()))
            lab.progress.look()
            for name, instrument in lab.instruments.items():
                instrument.rename(lab.progress.store(name))
            lab.changed()
        now = receipt(lab, fields())
        rows = [design.stored() | {"task": _task(lab.aims[name].task)} for name, design in built(lab).items()]
        return {"saved": now.saved, "changed": now.changed, "time": now.time, "where": now.where, "built": rows}

    return str(lab.element("save", Piece("save", {"id": "save", "designed": bool(lab.aims)}, compute)))


def end(lab: Lab, truths: Mapping[str, tuple[str, str]], design: Design, slots: Slots | None = None) -> Any:
    """The receipt with the button that saves, what to take away, and the ways on. `truths`: `end_rows`."""
    from ironlaw.kit import ending

    head = ending.receipt(lab.slug, end_rows(lab, truths), save_button(lab, design))
    return page_host.html(ending.end(head if lab.further else head + _lessons(lab, slots)))


def further(lab: Lab) -> Any:
    """Where what is beyond the core begins."""
    return page_host.html(
        f'<section class="il-step il-further" id="{journey.FURTHER}"><h2>Go further</h2>{prose.html(lab.words["further"])}</section>'
    )


def lessons(lab: Lab, slots: Slots | None = None) -> Any:
    """The receipt's second half, where something stands between the two."""
    return page_host.html(f'<section class="il-step il-end il-last">{_lessons(lab, slots)}</section>')


def _lessons(lab: Lab, slots: Slots | None) -> str:
    from ironlaw.kit import ending

    points, connections = lab.words.fill_all(["takeaways", "connections"], slots or {}).values()
    return ending.lessons(points, connections)


def end_rows(lab: Lab, truths: Mapping[str, tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """Act -> (the truth, what was measured of the same quantity or nothing), inline HTML -> rows: act, predicted, true, measured."""
    from ironlaw.kit.reveal import headed

    rows: list[tuple[str, str, str, str]] = []
    for act, (truth, measured) in truths.items():
        option = lab.first_choice(act)
        if option is not None:
            rows.append((lab.words[f"{act}.title"], prose.inline(option.label), headed(truth), measured))
    return rows


def hud(lab: Lab, items: Sequence[Item], design: Mapping[str, Any]) -> Any:
    """`design`: what would be saved now. Its parts and the receipt ask for the same designs, which are held against their goals once."""
    lab.built_now = built(lab)
    try:
        return _hud(lab, items, design)
    finally:
        lab.built_now = None


def _hud(lab: Lab, items: Sequence[Item], design: Mapping[str, Any]) -> Any:
    now = receipt(lab, design)
    head: list[Item] = [(lab.name, lab.words["title"], ""), ("Context", lab.current_context.label, "")]
    for act in (name for name, question in lab.questions.items() if question.kind == "prediction"):
        option, title = lab.first_choice(act), lab.words[f"{act}.title"].partition(":")[0]
        head.append(huds.prediction(title, option.label if option else None, lab.is_open(f"{act}.lock")))
    head += [huds.design(each.meets) for each in built(lab).values()]
    if "save" in lab.elements:
        lab.elements["save"].widget.refresh()
    return page_host.html(huds.hud([*head, *items], now, ("Ledger", "not saved", "fail") if lab.trouble else None))
