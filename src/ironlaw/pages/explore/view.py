"""What /explore shows for its settings: the terms, the roofline, readouts, the law with figures, and tables of reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import urlencode

from ironlaw.calibration import local_machine
from ironlaw.errors import IronlawError
from ironlaw.kit.banner import banner
from ironlaw.kit.cards import Card, card, tone
from ironlaw.pages.advice_page import advice
from ironlaw.pages.explore import explore_settings
from ironlaw.pages.explore.explore_formula import formula
from ironlaw.pages.explore.explore_sections import sections
from ironlaw.pages.explore_answers import SIZES, Answer, ask, inputs
from ironlaw.pictures.roofline_picture import roofline, spots
from ironlaw.pictures.terms import terms
from ironlaw.registry.workloads import about
from ironlaw.report import accuracy
from ironlaw.units import show_capacity, show_usable, significant
from ironlaw.widget.dials import Dial
from ironlaw.widget.figure import Figure
from ironlaw.widget.piece import plain
from ironlaw.widget.quantities import THIN, format_quantity, share

CHANGING = ("options", "hidden", "help", "steps", "max", "value", "idle")  # what a turn of one dial may change of another
BASES = {
    "calibrated": "Predicted by curves fitted to measurements of this machine.",
    "transferred": "≈ Estimated from its datasheet and other GPUs, since nobody has measured it. Compare it only with other ≈ times.",
    "bound": "A bound from the datasheet’s figures; don’t compare it with a measured machine’s time.",
}
MANY_SPOTS = 5  # with this many spots or more, the longest is worth naming


def view(state: Mapping[str, Any]) -> dict[str, Any]:
    """The view for a state. Settings from an address are used as they are; turning a dial may move others, which then say why."""
    requested = dict(state.get("dials") or {})
    moves: dict[str, dict[str, Any]] = {}
    if "seq" in state:
        dials, values, moves = explore_settings.settle(requested)
    else:
        dials, values = explore_settings.strict(requested)
    query = explore_settings.query(values)
    frame: dict[str, Any] = {"dials": _changes(dials, moves), "moved": moves, "query": urlencode(query), "error": None}
    try:
        return frame | _view(tuple(query), bool(state.get("moving")), local_machine.state())
    except IronlawError as error:
        return frame | {"error": {"dial": error.field, "message": str(error)}}


def _changes(dials: list[Dial], moves: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    changes = {
        dial["id"]: {key: dial.get(key) for key in CHANGING if dial.get(key) != usual.get(key)}
        for dial, usual in zip(dials, explore_settings.usual(), strict=True)
    }
    by_name = {dial["id"]: dial for dial in dials}
    for name, move in moves.items():
        note = f"{move['asked']} is not possible here, so this shows {move['value']}."
        if name == "dtype":
            note = f"This machine has no {move['asked']}, so this shows {move['value']}."
        changes[name]["help"] = " ".join(filter(None, (note, changes[name].get("help", by_name[name].get("help", "")))))
    return changes


@lru_cache(maxsize=256)  # a dial goes back and forth over the same settings
def _view(query: tuple[tuple[str, str], ...], moving: bool, _: local_machine.Stamp) -> dict[str, Any]:
    answer = ask(query)
    parts: dict[str, Any] = {
        "figures": [_terms(answer), _roofline(answer)],
        "note": f"<p>{escape(_overlap(answer))}</p>",
        "cards": _cards(answer),
        "formula": formula(answer.prediction),
        "banner": _out_of_memory(answer),
    }
    if not moving:  # the part below the pictures follows once the dials rest
        parts["sections"] = sections(answer.prediction)
    return dict(plain(parts))


def _terms(answer: Answer) -> Figure:
    p = answer.prediction
    figure = terms(p, interval=True)
    basis = " ".join((BASES[p.basis], *(f"{words.capitalize()}." for words in accuracy.caveats(p, lambda part: share(part, 1.0)))))
    return replace(figure, note=f"{figure.note}. {basis}", more={**figure.more, "tint": str(p.bound)})


def _roofline(answer: Answer) -> Figure:
    p = answer.prediction
    figure = roofline(p)
    points = spots(p)
    words = []
    if len(points) >= MANY_SPOTS:
        longest = max(points, key=lambda spot: spot.seconds)
        words.append(f"Longest of these: {longest.name}, {format_quantity(longest.seconds, 's')}.")
    rest = [row for row in p.ops if not (row.work.flops > 0 and row.work.bytes > 0 and row.seconds > 0)]
    if rest:
        time = sum(float(row.seconds) for row in rest)
        words.append(f"Not drawn: {_count(len(rest), 'operator')} without arithmetic, {share(time, float(p.busy_s))} of the device’s time.")
    note = "every operator: the rate it reaches against its arithmetic per byte; size is time"
    return replace(figure, note=note, more={**figure.more, "foot": " ".join(words)})


def _overlap(answer: Answer) -> str:
    p = answer.prediction
    low, high = (format_quantity(float(end), "s") for end in p.overlap)
    runs = ""
    if p.interval:
        runs = f"; four measured runs in five should fall in {accuracy.between(p.interval, format_quantity, ' to ')}"
    if low == high:
        return f"Overlapping memory and compute makes no difference here: {low} either way{runs}."
    return f"{low} if memory and compute overlap fully, {high} if not at all{runs}."


def _cards(answer: Answer) -> list[Card]:
    p, memory = answer.prediction, answer.prediction.memory
    count, unit = inputs(answer.name, answer.original)
    operators = len(answer.original.ops)
    used = float(memory.total / memory.usable)
    part = f"{share(used, 1.0)}" if used <= 1 else f"{significant(used)}×"
    hypothetical = "" if p.fits else "if it fitted"
    utilisation = tone("utilization", float(p.utilization))
    filled = {"tone": "fail", "word": "does not fit"} if not p.fits else {"tone": "middling" if used > 0.8 else ""}
    per_s = card("throughput", count / float(p.seconds), note=", ".join(filter(None, (f"{unit}s per s", hypothetical))))
    return [
        card("time", float(p.seconds), "s", note=hypothetical or p.label),
        per_s,
        card("utilisation", 100 * float(p.utilization), "%", tone=utilisation, source="share of the time that the device is busy")
        | ({"word": "low"} if utilisation == "bad" else {}),
        card("kernels", float(p.kernels), note=f"from {operators:,} operators") | {"value": f"{int(p.kernels):,}", "unit": ""},
        card("memory", float(memory.total), "B", note=f"{part} of {format_quantity(float(memory.usable), 'B')} usable") | filled,
        card("energy", float(p.energy_j), "J", note=f"estimate, {format_quantity(float(p.energy_j) / count, 'J')} per {unit}"),
    ]  # fmt: skip


def _out_of_memory(answer: Answer) -> dict[str, Any] | None:
    """What does not fit, by how much, and the changes that would help, each as a button."""
    p, memory = answer.prediction, answer.prediction.memory
    if p.fits:
        return None
    parts = (("weights", memory.resident_weights), ("KV cache", memory.kv_cache), ("activations", memory.activations))
    listed = ", ".join(f"{name} {format_quantity(float(size), 'B')}" for name, size in parts if size > 0)
    text = (
        f"{about(answer.name)['name']} needs {format_quantity(float(memory.total), 'B')} ({listed}), which is"
        f" {significant(float(memory.total / memory.usable))}× what this machine has ({show_usable(memory.capacity, memory.usable)})."
        " The times below are what it would take if it fitted."
    )
    if memory.requests and memory.total <= memory.usable:
        text = (
            f"{about(answer.name)['name']} needs {format_quantity(float(memory.total), 'B')} ({listed}) of"
            f" {show_usable(memory.capacity, memory.usable)}. What lies free between its tensors and a margin of {memory.margin:.0%} on all"
            " but its weights don't fit beside that. The times below are what it would take if it fitted."
        )
    elif memory.total <= memory.usable:
        text = (
            f"The weights of {about(answer.name)['name']} are {format_quantity(float(memory.weights), 'B')}, and this machine's flash holds"
            f" {show_capacity(float(memory.flash))}. The times below are what it would take if it fitted."
        )
    ways = advice(p, answer.name, answer.original)
    sentences = "".join(f" Take {escape(way['text'])}." for way in ways if not way["value"])
    actions = [{"label": f"Use {way['text']}", "dials": {way["field"]: _value(way)}} for way in ways if way["value"]]
    return {**banner("fail", "Out of memory", f"<p>{escape(text)}{sentences}</p>"), "actions": actions}


def _value(way: Mapping[str, Any]) -> Any:
    return int(way["value"]) if way["field"] in SIZES else way["value"]


def _count(n: int, word: str) -> str:
    return f"{n:,}{THIN}{word}{'' if n == 1 else 's'}"
