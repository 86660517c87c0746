"""The memory ladder of a device: where does this tensor live? The learner says first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware, Level
from ironlaw.engine.device.op_placement import ladder, lives
from ironlaw.engine.device.types import Tensor
from ironlaw.labs.review.review import Review
from ironlaw.pictures.levels import levels
from ironlaw.registry.machines import hardware, machines

NOWHERE, NO_GUESS = "nowhere", "unsaid"
FORMATS = ("fp32", "fp16", "int8")
FIRST = "a100_80gb_sxm"


def devices() -> tuple[tuple[str, str], ...]:
    """Machines whose ladder has more than one rung, the A100 first."""
    slugs = [slug for slug in machines() if len(ladder(hardware(slug))) > 1]
    return tuple((slug, hardware(slug).name) for slug in sorted(slugs, key=lambda slug: (slug != FIRST, hardware(slug).name)))


def dials(lab: Review) -> Callable[[Any], list[Any]]:
    def dials_at(values: Any) -> list[Any]:
        machine = hardware(values.get("device") or FIRST)
        places = [(NO_GUESS, "not answered yet"), *((level.name, level.label) for level in ladder(machine)), (NOWHERE, "it does not fit")]
        return [
            kit.select("device", "Device", devices(), FIRST),
            kit.span("rows", "Rows", 1, 2**20, 4096, log=True, whole=True),
            kit.span("columns", "Columns", 1, 65536, 1024, log=True, whole=True),
            kit.choice("format", "Format", [(fmt, fmt.upper()) for fmt in FORMATS], "fp16"),
            kit.choice("use", "Who reads it", [("next", "a later kernel"), ("own", "only the kernel that makes it")]),
            kit.select("guess", "Where does it live?", places, NO_GUESS),
            kit.switch("show", "Show me"),
        ]  # fmt: skip

    return dials_at


def view(lab: Review, values: Any) -> kit.View:
    if values["guess"] == NO_GUESS or not values["show"]:
        return kit.View(banner=kit.banner("ask", "Your answer first", kit.html(lab.words["ladder.first"])))
    machine: Hardware = hardware(values["device"])
    tensor = Tensor("x", (round(values["rows"]), round(values["columns"])), values["format"])
    size = float(tensor.bytes)
    place = lives(machine, size, values["use"] == "next")
    cards = [kit.card("Tensor", size, "B")]
    if place is not None:
        cards.append(kit.card("One read there", size / float(place.bandwidth), "s", note=place.label, source=_cite(place)))
        cards.append(kit.card("From main memory", size / float(machine.bandwidth), "s", source=machine.figures.get("bandwidth") or ""))
    return kit.View(
        figures=[levels(ladder(machine), size, place.name if place else "")], cards=cards, banner=_banner(lab, machine, place, values),
        readouts={"lives": place.name if place else NOWHERE},
    )  # fmt: skip


def _cite(level: Level) -> str:
    text = f"{level.source}, {level.date}".strip(", ")
    return f"Estimate: {level.why} ({text})" if level.estimate else text


def _banner(lab: Review, machine: Hardware, place: Level | None, values: Any) -> dict[str, Any]:
    guess, true = values["guess"], place.name if place else NOWHERE
    name = f"in {place.label}" if place else "nowhere: it does not fit"
    why = lab.words["ladder.next" if values["use"] == "next" else "ladder.own"] if place else lab.words["ladder.full"]
    return kit.banner("good" if guess == true else "warn", f"{'Yes' if guess == true else 'No'}: it lives {name}", kit.html(why))
