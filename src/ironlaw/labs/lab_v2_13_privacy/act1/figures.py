"""Act I's pictures: right guesses as each accountant proves them and as they are, five budgets on one axis, and the best attack."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.engine.privacy.accountants import LIMIT
from ironlaw.engine.privacy.attacks import accuracy, missed
from ironlaw.labs.lab_v2_13_privacy.act1 import local_runs
from ironlaw.labs.lab_v2_13_privacy.act1.run import Run
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS as NAMES
from ironlaw.labs.lab_v2_13_privacy.runs import REFERENCE, reference, tiny
from ironlaw.pictures.ends import fitted
from ironlaw.pictures.lines import lines
from ironlaw.pictures.meter import marks as percent_marks
from ironlaw.pictures.reveal_picture import points_off
from ironlaw.registry.publications import published
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

EPSILONS = (0.01, 1e4)
TICKS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e4)
ALARMS = tuple(k / 40 for k in range(41))
ASKED = (0.01, 4.0, 10_000.0)  # sampling rate, noise multiplier and steps of the question
OWN = "the noise itself"


def inside(epsilon: float) -> float:
    """On the axis; what is beyond stands at its end."""
    return min(max(epsilon, EPSILONS[0]), EPSILONS[1])


def about(run: Run) -> str:
    return f"{percent(run.rate)} per step, noise {significant(run.noise)}, {run.steps:,.0f} steps, δ = {tiny(run.delta)}"


def proved(run: Run) -> dict[str, float]:
    """ε by every accountant, Google's too where it was asked for this run."""
    theirs = reference(run.rate, run.noise, run.steps, run.delta)
    return {NAMES[name]: epsilon for name, epsilon in run.all.items()} | ({} if theirs is None else {REFERENCE: theirs})


def guesses(lab: kit.Lab, run: Run) -> Figure:
    """Right guesses: what each accountant's ε allows, and what the best test of the noise comes to."""
    rows = {name: 100 * accuracy(epsilon, run.delta) for name, epsilon in proved(run).items() if name != NAMES[LIMIT]}
    rows[OWN] = 100 * run.noise_attack
    marks: list[Mark] = [
        mark("point", "accent" if name == OWN else "ink", x=share, y=name, size=8 if name == OWN else 6, id=f"guesses-{name}", name=name,
             label=percent(share / 100), hover=[("correct guesses, at most", exact(share, "%"))])
        for name, share in rows.items()
    ]  # fmt: skip
    option = lab.choice("act1")
    if option is not None and (run.rate, run.noise, run.steps) == ASKED:
        said, true = float(option.value), float(lab.question("act1").answer)
        marks += percent_marks(said, true, points_off(said, true))
    text = "; ".join(f"{name}: {percent(share / 100)}" for name, share in rows.items())
    return Figure(
        "guesses", "What each proof allows, and what the noise allows", Axis("linear", "correct guesses", "%", (50.0, 100.0)),
        Axis("band", names=tuple(rows)), tuple(marks), f"{text}. A coin gets half of them right.",
        table=Table(("according to", "correct guesses, at most"), tuple((name, exact(share, "%")) for name, share in rows.items())),
        note=about(run),
    )  # fmt: skip


def budgets(run: Run) -> Figure:
    """ε of the same run by every accountant."""
    rows = proved(run)
    marks: list[Mark] = []
    for name, epsilon in rows.items():
        here, limit = name == NAMES[run.accountant], name == NAMES[LIMIT]
        colour = "accent" if here else "muted" if limit else "ridge" if name == REFERENCE else "ink"
        hover: list[Row] = [("ε", exact(epsilon)), "not a bound, the truth may lie above" if limit else "an upper bound"]
        marks.append(mark("point", colour, x=inside(epsilon), y=name, size=8 if here else 6, hollow=limit,
                          shape="diamond" if name == REFERENCE else "circle", id=f"budget-{name}", name=name,
                          label=significant(epsilon), hover=hover))  # fmt: skip
    text = "; ".join(f"{name}: ε = {significant(epsilon)}" for name, epsilon in rows.items())
    least, most = (inside(end(rows.values())) for end in (min, max))
    return Figure(
        "budgets", "The same run by every accountant", Axis("log", "ε", "", fitted([0.9 * least, 1.1 * most])),
        Axis("band", names=tuple(rows)), tuple(marks), f"{text}. The Gaussian limit is not a bound.",
        table=Table(("accountant", "ε", "is it a bound"), tuple((name, significant(e), "no" if name == NAMES[LIMIT] else "yes")
                                                          for name, e in rows.items())),
        note=about(run),
        legend=({"colour": "accent", "shape": "circle", "label": "as chosen"},
                {"colour": "ink", "shape": "circle", "label": "upper bounds"},
                {"colour": "muted", "shape": "circle", "hollow": True, "label": "not a bound"}),
    )  # fmt: skip


def attack(run: Run) -> Figure:
    """Missed members against false alarms: what the promise alone leaves to every test, and this noise to the best one."""
    bound = [(100 * f, 100 * missed(f, run.epsilon, run.delta)) for f in sorted({*ALARMS, _corner(run)})]
    marks = [
        mark("area", "muted", points=[(x, 0.0, y) for x, y in bound], id="closed", name="no attack gets there"),
        mark("line", "ink", points=bound, id="bound", name="what ε allows"),
        mark("line", "compute", points=[(100 * f, 100 * run.noise_missed(f)) for f in ALARMS], id="noise",
             name="best attack on this noise"),
        mark("line", "ridge", points=[(0.0, 100.0), (100.0, 0.0)], dash="7 4", id="guess", name="guessing"),
        mark("point", "good", x=100 * _corner(run), y=100 * missed(_corner(run), run.epsilon, run.delta), shape="diamond", size=7,
             id="corner", name="most correct guesses", hover=[("correct guesses", exact(100 * run.attack, "%"))]),
        mark("point", "accent", x=100 * run.alarms, y=100 * run.missed, size=8, id="now", name="as set",
             label=percent(run.missed), drag=hold("alarms"),
             hover=[("false alarms", exact(100 * run.alarms, "%")), ("missed at least", exact(100 * run.missed, "%"))]),
    ]  # fmt: skip
    text = (
        f"ε = {significant(run.epsilon)}: a test with {percent(run.alarms)} false alarms misses at least "
        f"{percent(run.missed)} of the members, and at best {percent(run.attack)} of all guesses are right, by ε alone. "
        f"The best attack on this very noise misses {percent(run.noise_missed(run.alarms))} there, and {percent(run.noise_attack)} of its "
        "guesses are right."
    )
    table = tuple((f"{x:g}%", f"{significant(y)}%", f"{significant(100 * run.noise_missed(x / 100))}%") for x, y in bound if x % 10 == 0)
    return Figure(
        "attack", "What ε leaves an attacker", Axis("linear", "false alarms", "%", (0.0, 100.0)),
        Axis("linear", "members missed", "%", (0.0, 100.0)), tuple(marks), text,
        table=Table(("false alarms", "missed at least", "by the best attack on this noise"), table),
        note=f"ε = {significant(run.epsilon)} by {NAMES[run.accountant]}, δ = {tiny(run.delta)}",
        legend=({"colour": "ink", "shape": "line", "label": "what ε allows"},
         {"colour": "compute", "shape": "line", "label": "best attack on this noise"},
         {"colour": "ridge", "shape": "line", "dash": True, "label": "guessing"},
         {"colour": "good", "shape": "diamond", "label": "most correct guesses"}),
    )  # fmt: skip


def _corner(run: Run) -> float:
    """Where both lines of the curve meet: (1 − δ) / (1 + e^ε)."""
    return (1 - run.delta) / (1 + math.exp(min(run.epsilon, 700.0)))


def here(run: kit.Measured) -> Figure:
    """Accuracy by noise on the learner's machine, beside what a tutorial reports for MNIST."""
    tutorial = published("tf_privacy_mnist")
    rows = sorted(tutorial.where(), key=lambda row: float(row["noise"]))
    series = {"MNIST, TensorFlow Privacy": [(float(row["noise"]), float(row["accuracy"])) for row in rows]}
    local = {f"{count:,} records, {run.source}": points for count, points in local_runs.by_records(run).items()}
    return lines(
        series, Axis("linear", "noise multiplier", "", (0.0, 5.0)), Axis("linear", "accuracy", "%", (0.0, 100.0)),
        "Trained on this machine", local=local, id="here", note="synthetic records here, so not the same task as MNIST",
    )  # fmt: skip
