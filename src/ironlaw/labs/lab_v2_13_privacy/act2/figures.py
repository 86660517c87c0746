"""Act II's pictures: accuracy against ε of the designs, accuracy by noise with every seed, and the learner's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.privacy.accountants import ADVANCED
from ironlaw.labs.lab_v2_13_privacy.act2.plan import Plan, changes, front
from ironlaw.labs.lab_v2_13_privacy.act2.verdict import BUDGET, LEAST
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS, tiny
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.registry.private_runs import NOISES, RATES, SEEDS
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

EPSILONS = (0.05, 500.0)
ACCURACIES = (40.0, 100.0)
OPTIONS = {"batch": "batches × 4", "epochs": "epochs × 4", "tuning": "runs × 5", "clip": "clip norm × 3"}
BEFORE = "as set"
Kept = Sequence[tuple[str, Plan]]


def _on(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])


def _runs(plan: Plan) -> str:
    return f"{plan.runs} run{'' if plan.runs == 1 else 's'}"


def _data(plan: Plan) -> str:
    return f"{plan.records:,} {'digits' if plan.real else 'synthetic digits'}"


def _words(plan: Plan) -> str:
    learning = f"clip norm {plan.clip:g}, learning rate {plan.speed:g}, epochs {plan.epochs}"
    return f"{100 * plan.rate:g}% per step, noise {plan.noise:g}, {learning}, {_runs(plan)}"


def _spread(plan: Plan, colour: str, name: str) -> Mark:
    """From two standard errors below the mean to two above."""
    x, error = _on(plan.epsilon, EPSILONS), 200 * plan.trained.error
    points = [(x, _on(100 * plan.trained.accuracy + side * error, ACCURACIES)) for side in (-1, 1)]
    return mark("line", colour, points=points, id=f"spread-{name}", name="± two standard errors")


def _dot(plan: Plan, colour: str, name: str, label: str, size: int, shape: str) -> Mark:
    hover: list[Row] = [("ε", exact(plan.epsilon)), ("accuracy", exact(100 * plan.trained.accuracy, "%")), _words(plan)]
    return mark("point", colour, x=_on(plan.epsilon, EPSILONS), y=_on(100 * plan.trained.accuracy, ACCURACIES), size=size, shape=shape,
                id=name, name=name, label=label, hover=hover)  # fmt: skip


def designs(plan: Plan, kept: Kept, moving: bool) -> Figure:
    """Accuracy against ε: the best of all that were trained on these records, the design as set, those that the learner keeps."""
    slow = plan.accountant == ADVANCED  # looks for its best split for every design
    best = front(plan.records, plan.runs, plan.delta, plan.accountant, (plan.rate,) if moving or slow else RATES)
    steps: list[tuple[float, float]] = []
    for epsilon, accuracy in best:
        x, y = _on(epsilon, EPSILONS), _on(100 * accuracy, ACCURACIES)
        steps += [(x, steps[-1][1]), (x, y)] if steps else [(x, y)]
    steps.append((EPSILONS[1], steps[-1][1]))
    floor, own = 100 * LEAST, percent(plan.trained.accuracy)
    marks = [
        mark("area", "good", x0=EPSILONS[0], x1=BUDGET, y0=floor, y1=ACCURACIES[1], id="box", name="the goal"),
        mark("rule", "ridge", x=BUDGET, dash=True, id="budget", name="budget", label=f"budget {BUDGET:g}",
             hover=[("budget", f"ε = {BUDGET:g}")]),
        mark("rule", "ridge", y=floor, dash=True, id="floor", name="floor", hover=[("floor", f"{floor:g}%")]),
        mark("line", "ink", points=steps, id="front", name="best of all trained designs", end="best of all trained designs"),
    ]  # fmt: skip
    for i, (name, other) in enumerate(kept):
        marks += [_spread(other, "memory", f"kept-{i}"), _dot(other, "memory", f"kept-{i}-dot", name, 6, "square")]
    marks += [_spread(plan, "accent", "own"), _dot(plan, "accent", "now", own, 8, "circle")]
    within = [accuracy for epsilon, accuracy in best if epsilon <= BUDGET]
    most = f"The best trained design within ε = {BUDGET:g} has {percent(max(within, default=0.0))}."
    text = f"As set: ε = {significant(plan.epsilon)}, accuracy {own}. " + (most if within else f"No trained design meets ε = {BUDGET:g}.")
    rows = tuple(
        (name, significant(one.epsilon), percent(one.trained.accuracy),
         f"{significant(200 * one.trained.error, 2)} points", _words(one))
        for name, one in (("as set", plan), *kept)
    )  # fmt: skip
    return Figure(
        "designs", "Accuracy against ε", Axis("log", "ε of all runs", "", EPSILONS, ticks=(0.1, 1.0, 10.0, 100.0)),
        Axis("linear", "classified correctly", "%", ACCURACIES), tuple(marks), text,
        table=Table(("design", "ε", "accuracy", "± two standard errors", "settings"), rows),
        note=f"{_data(plan)}, {_runs(plan)}, δ = {tiny(plan.delta)}, by {ACCOUNTANTS[plan.accountant]}",
        legend=({"colour": "ink", "shape": "line", "label": "best of all trained designs"},
         {"colour": "accent", "shape": "circle", "label": "as set"},
         {"colour": "good", "label": f"the goal, ε ≤ {BUDGET:g} and at least {floor:g}%"},
         *([{"colour": "memory", "shape": "square", "label": "kept"}] if kept else [])),
    )  # fmt: skip


def by_noise(plan: Plan) -> Figure:
    """Accuracy by noise multiplier, the rest as set: every seed a point, their mean a line."""
    each = {noise: replace(plan, noise=noise).trained for noise in NOISES}
    plain, own = 100 * plan.plain.accuracy, 100 * plan.trained.accuracy
    marks = [
        mark("rule", "ridge", y=100 * LEAST, dash=True, id="floor", name="floor", label=f"goal {100 * LEAST:g}%"),
        mark("line", "memory", points=[(NOISES[0], plain), (NOISES[-1], plain)], dash="7 4", id="plain", name="without noise and clipping",
             end="without noise and clipping"),
        mark("line", "ink", points=[(noise, 100 * run.accuracy) for noise, run in each.items()], id="mean", name="mean of three",
             end="mean of three"),
    ]  # fmt: skip
    marks += [
        mark("point", "ridge", x=noise, y=100 * accuracy, size=3, id=f"seed-{noise:g}-{seed}", name=f"seed {seed}",
             hover=[("noise multiplier", f"{noise:g}"), ("accuracy", exact(100 * accuracy, "%"))])
        for noise, run in each.items() for seed, accuracy in zip(SEEDS, run.accuracies, strict=True)
    ]  # fmt: skip
    marks.append(mark("point", "accent", x=plan.noise, y=own, size=8, id="now", name="as set", label=f"{significant(own)}%",
                      drag=hold("noise"),
                      hover=[("noise multiplier", f"{plan.noise:g}"), ("accuracy", exact(own, "%"))]))  # fmt: skip
    means = "; ".join(f"noise {noise:g}: {percent(run.accuracy)}" for noise, run in each.items())
    rows = tuple(
        (
            f"{noise:g}",
            *(percent(accuracy) for accuracy in run.accuracies),
            significant(replace(plan, noise=noise).epsilon),
        )
        for noise, run in each.items()
    )
    return Figure(
        "by-noise", "Accuracy by noise", Axis("log", "noise multiplier", "", (NOISES[0], NOISES[-1]), ticks=(0.5, 1.0, 2.0, 4.0, 8.0)),
        Axis("linear", "classified correctly", "%", (0.0, 100.0)), tuple(marks),
        f"Without noise and clipping {significant(plain)}% are classified correctly. {means}.",
        table=Table(("noise", *(f"seed {seed}" for seed in SEEDS), "ε of all runs"), rows),
        note=f"{_data(plan)}, {plan.trained.tested:,} to test; clip norm {plan.clip:g}, learning rate {plan.speed:g}, epochs {plan.epochs}",
        legend=({"colour": "ink", "shape": "line", "label": "mean of three"}, {"colour": "ridge", "shape": "circle", "label": "one seed"},
         {"colour": "memory", "shape": "line", "dash": True, "label": "without noise and clipping"}),
    )  # fmt: skip


def four_changes(lab: kit.Lab, plan: Plan) -> Figure:
    """ε of the design as set, before and after each of the question's changes; the learner's and the right one are marked."""
    rows = {BEFORE: plan.epsilon, **{OPTIONS[name]: epsilon for name, epsilon in changes(plan).items()}}
    marks = tuple(
        mark("bar", "ridge", x0=0.0, x1=epsilon, y=name, id=f"after-{name}", name=name, label=significant(epsilon),
             hover=[("ε", exact(epsilon))])
        for name, epsilon in rows.items()
    )  # fmt: skip
    limit = mark("rule", "fail", x=BUDGET, dash=True, id="budget", name="budget", label=f"budget {BUDGET:g}")
    drawn = Figure(
        "changes", "Only the clip norm leaves ε alone", Axis("linear", "ε", "", (0.0, up_to(max(4.0, *rows.values())))),
        Axis("band", names=tuple(rows)),
        (*marks, limit), "; ".join(f"{name}: ε = {significant(epsilon)}" for name, epsilon in rows.items()) + ".",
        table=Table(("change", "ε"), tuple((name, significant(epsilon)) for name, epsilon in rows.items())),
        note=f"{100 * plan.rate:g}% per step, noise {plan.noise:g}, epochs {plan.epochs}, {_runs(plan)}, δ = {tiny(plan.delta)}",
    )  # fmt: skip
    option = lab.choice("act2")
    return on_rows(drawn, [OPTIONS[option.id]], OPTIONS[lab.question("act2").right.id]) if option else drawn
