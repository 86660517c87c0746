"""Act I's pictures: the table's models with what was claimed for them, and a reader of digits under attack."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from ironlaw import kit
from ironlaw.labs.lab_v2_14_adversarial.act1 import local_runs
from ironlaw.labs.lab_v2_14_adversarial.act1.setting import ATTACKS, READERS, Setting
from ironlaw.labs.lab_v2_14_adversarial.models import BOX, CIFAR, NAMES, STANDARD, count, models, others
from ironlaw.pictures.front import Entry, front
from ironlaw.pictures.lines import lines
from ironlaw.pictures.reveal_picture import points_off
from ironlaw.registry.adversarial_tables import EPSILONS, drawn
from ironlaw.units import counted as number_of
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

CLEAN = {"cifar10": (78.0, 96.0), "imagenet": (52.0, 84.0)}
ACROSS = 5  # dots in a line of a box, of models that are only counted
SHARE = Axis("linear", "right under attack", "%", (-6.0, 100.0), ticks=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0))
EPSILON = Axis("linear", "largest change of a pixel, of its range", "", (0.0, EPSILONS[-1]), ticks=(0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24))
NAMED = ("Bai2024MixedNUTS", "Bartoldson2024Adversarial_WRN-94-16", "Salman2020Do_R50")  # the front's ends, and ImageNet's robust one
SIDE, CELL = 8, 5


def table(lab: kit.Lab, setting: Setting) -> Figure:
    """Right as they are, right under attack: the front, the arrows from claims, the prediction's mark at the attacked axis."""
    entries = []
    for one in setting.shown:
        sure = one.sure("attacked", setting.confidence)
        more = ((f"{one.slug}, {one.architecture}", str(one.year) if one.year else "no paper"),)
        entries.append(Entry(one.name, one.clean, one.attacked, 100 * sure.low, 100 * sure.high, one.reported, more=more))
    labels = [one.name for one in setting.shown if one.lost > 20 or one.slug in STANDARD.values() or one.slug in NAMED]
    figure = front(
        entries, Axis("linear", "right on unchanged images", "%", CLEAN[setting.data]), SHARE,
        f"{NAMES[setting.data]}, as claimed and as attacked",
        labels=labels, extra=[*boxes(setting), *answer(lab, setting.data)], id="table", note=counted(setting),
    )  # fmt: skip
    dots = {"colour": "ridge", "shape": "circle", "label": "any other model, somewhere in its box of 2 × 5 points"}
    return replace(figure, legend=(*figure.legend, dots)) if setting.whole else figure


def boxes(setting: Setting) -> list[Mark]:
    """The models without a row, a small dot each, in the box that they were counted in."""
    low, high = CLEAN[setting.data]
    return [
        mark(
            "cells", "ridge", x0=clean, x1=clean + BOX[0], y0=attacked, y1=attacked + BOX[1], count=many, shape="circle",
            grid=(min(many, ACROSS), -(-many // ACROSS)),
            id=f"box-{clean:g}-{attacked:g}", name=number_of(many, "model"),
            hover=[("unchanged", f"{clean:g} to {clean + BOX[0]:g}%"), ("under attack", f"{attacked:g} to {attacked + BOX[1]:g}%")],
        )
        for clean, attacked, many in (others(setting.data) if setting.whole else ())
        if low <= clean < high
    ]  # fmt: skip


def answer(lab: kit.Lab, data: str) -> list[Mark]:
    """Where the learner's prediction and the truth stand on the attacked axis. Beside other images the truth says whose it is."""
    option = lab.choice("act1")
    if option is None:
        return []
    said, true = float(option.value), float(lab.question("act1").answer)
    where = "it is" if data == CIFAR else f"on {NAMES[CIFAR]} it is"
    off = points_off(said, true)
    return [
        mark("rule", "accent", y=said, role="prediction", distance=off, id="prediction", name="your prediction",
             label=f"you said {said:g}%", hover=[("your prediction", exact(said, "%")), ("off", off)]),
        mark("rule", "ink", y=true, role="truth", id="truth", name="the attack left", label="" if said == true else f"{where} {true:g}%",
             hover=[("the standard network of CIFAR-10", exact(true, "%"))]),
    ]  # fmt: skip


def counted(setting: Setting) -> str:
    """How much of the whole table is here."""
    data = setting.data
    every, beyond = count(data, "models"), sum(many for clean, _, many in others(data) if clean < CLEAN[data][0])
    if setting.whole:
        return f"all {every} models in RobustBench" + (f", {beyond} of them left of the picture" if beyond else "")
    return f"{len(setting.shown)} of the {len(models(data))} that are named, of {every} models in RobustBench"


def readers(lab: kit.Lab, setting: Setting) -> Figure:
    """Right answers by ε: the reader under each attack, and the run on this machine."""
    name = ATTACKS[setting.attack]
    series = {
        label: [(epsilon, 100 * setting.withstood(epsilon, kind).value) for epsilon in EPSILONS] for kind, label in ATTACKS.items()
    }  # fmt: skip
    run = lab.local_run(local_runs.NAME)
    local = {f"{label}, {run.source}": local_runs.points(run, kind) for kind, label in local_runs.SHOWN.items()} if run else {}
    left = setting.left
    bar = mark("line", "muted", points=[(setting.epsilon, 100 * left.low), (setting.epsilon, 100 * left.high)], name="95% interval",
               id="interval")  # fmt: skip
    chance = mark("rule", "ridge", y=10.0, dash=True, label="chance", name="guessing among ten digits", id="chance")
    times = f"{number_of(setting.steps, 'step')}, {number_of(setting.restarts, 'start')}"
    return lines(
        series, EPSILON, Axis("linear", "right answers", "%", (0.0, 100.0)), f"Digit classifier, {READERS[setting.reader]}",
        extra=[chance, bar], now=(name, setting.epsilon), drag=hold("epsilon"), local=local, id="readers",
        note=f"797 images; attacks of many steps take {times}",
    )  # fmt: skip


def pictures(setting: Setting) -> str:
    """A few images as the attack leaves them, and what each is read as."""
    items = "".join(_digit(one.shades, one.label, one.answer) for one in drawn(setting.reader, setting.attack, setting.epsilon))
    many = "in one step" if setting.attack == "fgsm" else "in 20 steps from one start"
    return f'<p>Pixels moved by up to {setting.epsilon:g} of their range, {many}:</p><ul class="il-thumbs" role="list">{items}</ul>'


def _digit(shades: tuple[float, ...], label: int, answer: int) -> str:
    squares = "".join(
        f'<rect x="{CELL * (i % SIDE)}" y="{CELL * (i // SIDE)}" width="{CELL}" height="{CELL}" fill-opacity="{shade:.2f}"/>'
        for i, shade in enumerate(shades)
        if shade > 0.01
    )
    words = escape(f"a {label}, read as a {answer}")
    size = SIDE * CELL
    box = f'width="{size}" height="{size}" viewBox="0 0 {size} {size}"'
    return f'<li><svg {box} role="img" aria-label="{words}" fill="currentColor">{squares}</svg><span>{label} → {answer}</span></li>'
