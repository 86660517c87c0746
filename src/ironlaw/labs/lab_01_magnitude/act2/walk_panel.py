"""Act II, before any formula: one weight on its way from memory to a multiplier, and what it is used for there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.formats import rate_unit
from ironlaw.kit import settings
from ironlaw.kit.context import Context, pick, the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_01_magnitude.act2 import reuse
from ironlaw.labs.lab_01_magnitude.act2.reuse import Use
from ironlaw.pictures.ends import decades, fitted
from ironlaw.pictures.lines import lines
from ironlaw.pictures.roofs import LEVELS
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, figure, hundredths, whole
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark, tabbed

FOLLOWS = ("device",)
WHICH = {"mean": "an average one", "most": "the most used", "least": "the least used"}
UNIT, USED = "multiply-adds", "used so far"


def _pass(model: str) -> str:
    return f"{about(model)['name']}, {'a decoding step' if 'phase' in reuse.PASSES[model] else 'an image'}"


@dataclass(frozen=True)
class Walk:
    """Where the dials stand."""

    context: Context
    model: str = among(tuple(reuse.PASSES), "resnet50", "Model", dial="select", shown=_pass)
    which: str = among(WHICH, "mean", "Which weight")
    batch: int = whole(1, "Batch", most=256, dial="span", log=True)
    progress: float = figure(100, "Progress of the pass", "%", zero=True, low=0, high=100, dial="span", whole=True, means=hundredths)

    @property
    def hardware(self) -> Hardware:
        return self.context.hardware

    @property
    def label(self) -> str:
        return self.context.label

    @property
    def fmt(self) -> str:
        return next((f for f in ("fp16", "fp32") if f in self.hardware.peaks), next(iter(self.hardware.peaks)))

    @property
    def uses(self) -> tuple[Use, ...]:
        return reuse.uses(self.model, self.batch)

    @property
    def mean(self) -> float:
        return reuse.mean(self.uses)

    @property
    def total(self) -> float:
        """Uses of the chosen weight in the whole pass."""
        return {"mean": self.mean, "most": self.most.uses, "least": self.least.uses}[self.which]

    @property
    def so_far(self) -> float:
        """A weight that has arrived is used at least once."""
        return max(1.0, self.progress * self.total)

    @property
    def most(self) -> Use:
        return max(self.uses, key=lambda use: use.uses)

    @property
    def least(self) -> Use:
        return min(self.uses, key=lambda use: use.uses)

    @property
    def needed(self) -> float:
        return reuse.to_pay(self.hardware, self.fmt)

    @property
    def main(self) -> str:
        return self.hardware.level("main").label

    @property
    def steps(self) -> list[tuple[str, float]]:
        """(level, multiply-adds that pay for a trip from it), from main memory inwards."""
        names = [level.name for level in self.hardware.levels] or ["main"]
        labels = [LEVELS.get(name, self.hardware.level(name).label) for name in names]
        return [(label, reuse.to_pay(self.hardware, self.fmt, name)) for name, label in zip(reversed(names), reversed(labels), strict=True)]


def dials(lab: kit.Lab) -> Any:
    devices = [(c.slug, c.menu_label) for c in lab.contexts]

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug = values.get("device") or lab.current_context.slug
        device = kit.select("device", "Device", devices, slug)
        return [*settings.dials(Walk, ("model", "which", "batch")), device, *settings.dials(Walk, ("progress",))]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    walk = settings.read(Walk, values, context=pick(lab.contexts, values["device"]))
    return kit.View(
        [tabbed(trip(walk), "The trip and its uses"), tabbed(layers(walk), "Layer by layer")],
        cards(walk),
        formula(walk),
        note=note(lab, walk),
    )


def count(value: float) -> str:
    """Whole uses below a hundred thousand in full; a mean to three digits."""
    return f"{value:,.0f}" if value == round(value) and value < 1e5 else significant(value)


def trip(walk: Walk) -> Figure:
    """What each level on the way asks for, and what the weight has been used for so far."""
    rows = [(f"from {label}", needed, "memory") for label, needed in walk.steps] + [(USED, walk.so_far, "compute")]
    marks: list[Mark] = []
    for name, value, colour in rows:
        paid = colour == "compute" or walk.so_far >= value
        tags = None if colour == "compute" else [{"text": "paid for" if paid else "owed", "colour": "good" if paid else "warn"}]
        hover = [(UNIT, significant(value, 6))]
        marks.append(mark("dot", colour, x=value, y=name, id=name, name=name, label=count(value), tags=tags, hover=hover,
                          emphasis=colour == "compute"))  # fmt: skip
    words = "; ".join(f"{name}: {count(value)} {UNIT.removesuffix('s') if count(value) == '1' else UNIT}" for name, value, _ in rows)
    table = Table(("step", UNIT, "paid for"), tuple((n, count(v), "" if c == "compute" else _yes(walk.so_far >= v)) for n, v, c in rows))
    across, down = Axis("log", UNIT, domain=_ends(walk)), Axis("band", names=tuple(name for name, *_ in rows))
    return Figure(
        "trip", "What a trip costs, and what it is used for", across, down, tuple(marks), f"{words}.", table,
        f"{walk.label}, {walk.fmt.upper()}; {_pass(walk.model)}, batch {walk.batch}",
    )  # fmt: skip


def _ends(walk: Walk) -> tuple[float, float]:
    """The ends of the axis, which hold still while the pass goes on."""
    values = [1.0, walk.total, *(needed for _, needed in walk.steps)]
    return decades(min(values), 1.1 * max(values))


def _yes(paid: bool) -> str:
    return "yes" if paid else "no"


def layers(walk: Walk) -> Figure:
    """Uses of a weight, layer by layer, against what pays for the trip from main memory."""
    points = [(float(i), use.uses) for i, use in enumerate(walk.uses, 1)]
    marks = [
        mark("rule", "ridge", y=walk.needed, dash=True, id="needed", label=f"pays for {walk.main}: {count(walk.needed)}", name="to pay",
             hover=[("to pay for main memory", significant(walk.needed, 6))]),
        mark("rule", "accent", y=walk.mean, id="mean", label=f"average {count(walk.mean)}", name="average",
             hover=[("average over all weights", significant(walk.mean, 6))]),
    ]  # fmt: skip
    order, height = Axis("linear", "layer, in the order they run"), Axis("log", "uses of a weight", domain=_span(points, walk))
    return lines(
        {"uses of a weight": points}, order, height, "How often each weight is used",
        extra=marks, now=_now(walk, points), note=_pass(walk.model), id="layers",
        more={"height": 280},
    )  # fmt: skip


def _span(points: Sequence[tuple[float, float]], walk: Walk) -> tuple[float, float]:
    values = [value for _, value in points] + [walk.needed]
    return fitted([min(values) / 1.2, 1.2 * max(values)])


def _now(walk: Walk, points: Sequence[tuple[float, float]]) -> tuple[str, float] | None:
    """The layer of the chosen weight; an average belongs to none."""
    if walk.which == "mean":
        return None
    return "uses of a weight", next(i for i, value in points if value == walk.total)


def cards(walk: Walk) -> list[dict[str, Any]]:
    share = walk.so_far / walk.needed
    return [
        kit.text_card("Paid back", significant(100 * share), "%", tone="good" if share >= 1 else "",
            word="paid for" if share >= 1 else "owed", note="of the trip from memory"),
    ]  # fmt: skip


def formula(walk: Walk) -> str:
    size = bytes_per_element(walk.fmt)
    top = f"{kit.amount(float(walk.hardware.peak(walk.fmt)), rate_unit(walk.fmt))} × {kit.amount(size, 'B')}"
    bottom = f"2 × {kit.amount(float(walk.hardware.bandwidth), 'B/s')}"
    symbols = fraction(term("compute", "<i>R b</i>"), term("memory", "2 <i>BW</i>"))
    return line("uses to pay =", symbols, "=", fraction(top, bottom), "=", kit.dress(count(walk.needed)))


def note(lab: kit.Lab, walk: Walk) -> str:
    texts = [
        lab.fill(
            "act2.walk.trip", memory=walk.main, device=the(walk.context), needed=kit.dress(count(walk.needed)), format=walk.fmt.upper()
        ),
        _steps(lab, walk) if "phase" in reuse.PASSES[walk.model] else _slides(lab, walk),
        lab.fill("act2.walk.pays" if walk.mean >= walk.needed else "act2.walk.owes", memory=walk.main),
    ]
    return kit.html("\n\n".join(texts))


def _slides(lab: kit.Lab, walk: Walk) -> str:
    ends = {"most": walk.most, "least": walk.least}
    uses = {name: kit.dress(count(use.uses)) for name, use in ends.items()}
    names = {f"{name}_name": use.name for name, use in ends.items()}
    return lab.fill(
        "act2.walk.slides", **uses, **names, mean=kit.dress(count(walk.mean)), model=about(walk.model)["name"], batch=walk.batch
    )


def _steps(lab: kit.Lab, walk: Walk) -> str:
    times = "once" if walk.mean == 1 else kit.Markup(f"{kit.dress(count(walk.mean))} times")
    return lab.fill("act2.walk.steps", mean=times, model=about(walk.model)["name"], batch=walk.batch)
