"""Settings of an instrument's dials, drawn from the options, limits and steps that each dial declares: the same ones every time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from book import Book
from visits import Visit

SAVE = "save save"
EVERY = 5  # setting in a row is also asked for as a dial passes through it, and saved; then comes the next context


def turn(visit: Visit, book: Book, key: str, numbers: Sequence[int]) -> None:
    """Every instrument of the page at these settings, the contexts one after the other. Fewer numbers are the beginning of more."""
    toggle = next((name for name in visit.names if name.startswith("toggle ")), None)  # those of the other instruments follow it
    contexts = [option["value"] for option in visit.traits(toggle)["spec"]["options"]] if toggle else []
    instruments = [name for name in visit.names if name.startswith("instrument ")]
    for place, number in enumerate(numbers):
        where = f"{key}/turned/{number:03d}"
        context = contexts[place // EVERY % len(contexts)] if contexts else None
        if toggle and context and visit.traits(toggle)["state"]["value"] != context:
            book.keep(f"{where} context {context}", visit.act(toggle, value=context))
        for name in instruments:
            asked = setting(visit.traits(name)["spec"]["dials"], random.Random(f"{visit.lab.slug} {name} {number}"))
            if place % EVERY == 0:
                book.keep(f"{where} {name} moving", {"asked": asked, **visit.look(name, {"dials": asked})})
            book.keep(f"{where} {name}", {"asked": asked, **visit.act(name, dials=asked)})
        if place % EVERY == 0 and SAVE in visit.names:
            before = len(visit.events())
            parts = visit.press(SAVE)
            saves = {part: value for part, value in parts.items() if part.startswith(("cell ", "save "))}
            book.keep(f"{where} saved", {**saves, "events": visit.events(before)})


def setting(dials: list[dict[str, Any]], source: random.Random) -> dict[str, Any]:
    """A few dials away from where they start, or all of them."""
    drawn = {dial["id"]: draw(dial, source) for dial in dials}
    turned = set(source.sample(list(drawn), min(len(drawn), source.choice((1, 2, 3, len(drawn))))))
    for dial in dials:
        if dial["type"] == "pins" and drawn[dial["id"]]:
            for pin in drawn[dial["id"]]:
                pin["values"] = {name: drawn[name] for name in dial["of"] if name in drawn}
    return {dial["id"]: drawn[dial["id"]] if dial["id"] in turned else dial["value"] for dial in dials}


def draw(dial: dict[str, Any], source: random.Random) -> Any:
    match dial["type"]:
        case "choice" | "select":
            return source.choice(dial["options"])["value"]
        case "switch":
            return source.random() < 0.5
        case "range" | "log":
            return _number(dial, source)
        case "chain":
            return [source.choice(dial["options"])["value"] for _ in range(source.randint(1, dial["most"]))]
        case "pins":
            return [{"name": f"pin {index}", "values": {}} for index in range(source.randint(0, min(2, dial["most"])))]
    raise ValueError(f"dial {dial['id']!r} is of a type that the recorder does not know: {dial['type']!r}")


def _number(dial: dict[str, Any], source: random.Random) -> Any:
    low, high = dial["min"], dial["max"]
    stops = [*dial.get("presets", ()), *dial.get("steps", ()), low, high]
    if source.random() < 0.2:
        return source.choice([stop for stop in stops if isinstance(stop, (int, float))])
    if dial["type"] == "log" and low > 0:
        value = float(f"{math.exp(source.uniform(math.log(low), math.log(high))):.3g}")
    else:
        step = dial.get("step") or 1
        value = round(low + step * source.randint(0, max(0, math.floor((high - low) / step + 1e-9))), 9)
    value = min(high, max(low, value))
    return round(value) if dial.get("whole") or (value == int(value) and isinstance(low, int)) else value
