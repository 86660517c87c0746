"""Act II's pictures: the cache at a moment, batch and line over time, how long tokens took, and what a batch costs each token."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE, WINDOW
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import doubled_to
from ironlaw.pictures.lines import Points, lines, upright
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.served_cases import ServedCase
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

BATCHES = (1, 4, 16, 64, 256)
TIMES = (1e-3, 100.0)  # seconds
STEPS = 60  # points of a distribution


def place(case: ServedCase) -> str:
    many = f"{case.replicas} × " if case.replicas > 1 else ""
    return f"{about(case.model)['name']}, {many}{case.devices} {'device' if case.devices == 1 else 'devices'}"


def one_of_many(case: ServedCase) -> str:
    return "the first replica" if case.replicas > 1 else place(case)


def over_time(case: ServedCase, at: float) -> Figure:
    out = case.parts[0]
    series: dict[str, Points] = {"decoding": _steps(out, "batch"), "waiting": _steps(out, "waiting")}
    high = doubled_to(32.0, [max(1.0, *(value for _, value in points)) for points in series.values()])
    now = upright(min(at, WINDOW), f"{at:g} s", "now", "s", "accent", id="now")
    return lines(
        series, Axis("linear", "time", "s", (0.0, WINDOW)), Axis("linear", "requests", "", (0.0, high)), "Batch and line over time",
        extra=[now], note=one_of_many(case), id="over-time",
    )  # fmt: skip


def _steps(out: Outcome, what: str) -> list[tuple[float, float]]:
    """What each stretch of steps had, thinned to what a screen can show."""
    points: list[tuple[float, float]] = [(0.0, 0.0)]
    for moment in out.moments:
        if moment.at > WINDOW:
            break
        value = float(getattr(moment, what))
        if value != points[-1][1]:
            points += [(moment.at, points[-1][1]), (moment.at, value)]
    return [*points, (min(WINDOW, out.moments[-1].at + out.moments[-1].seconds), points[-1][1])]


def times(case: ServedCase) -> Figure:
    """What share of first tokens, and of gaps between tokens, came within a time."""
    out = case.outcome
    series: dict[str, Points] = {"first token": _within([(wait, 1.0) for wait in out.waits])}
    gaps = [(seconds, count) for seconds, count in out.gaps if seconds > 0]
    if gaps:
        series["between tokens"] = _within(sorted(gaps))
    extra = [
        upright(PROMISE.tbt, f"gap ≤ {format_quantity(PROMISE.tbt, 's')}", "promised gap", "s", "ink", id="slo-tbt"),
        upright(PROMISE.ttft, f"first ≤ {format_quantity(PROMISE.ttft, 's')}", "promised first token", "s", "memory", id="slo-ttft"),
        mark("rule", "muted", y=100 * PROMISE.share, dash=True, id="share", name="P99", hover=[("promised to", exact(99.0, "%"))]),
    ]
    return lines(
        series, Axis("log", "time", "s", TIMES), Axis("linear", "came within it", "%", (0.0, 105.0)), "How long tokens took", extra=extra,
        note=place(case), id="times",
    )  # fmt: skip


def _within(sorted_times: list[tuple[float, float]]) -> list[tuple[float, float]]:
    total = sum(count for _, count in sorted_times)
    points, passed, last = [(TIMES[0], 0.0)], 0.0, -1
    for seconds, count in sorted_times:
        passed += count
        step = int(STEPS * passed / total)
        if step > last:
            last = step
            points.append((min(max(seconds, TIMES[0]), TIMES[1]), 100 * passed / total))
    return [*points, (TIMES[1], 100.0)]


def said(lab: kit.Lab, ratios: dict[str, float]) -> Figure | None:
    """What pieces do to both times, and what the learner said of the first token's."""
    option = lab.choice("act2")
    if option is None:
        return None
    gap, first = ratios
    bars: list[Mark] = [
        mark("bar", colour, x=ratios[name], y=name, id=name, name=name, label=f"{significant(ratios[name])} ×",
             hover=[("in pieces over whole", exact(ratios[name], "×"))])
        for name, colour in ((gap, "compute"), (first, "memory"))
    ]  # fmt: skip
    rules = reveal_picture.rules(float(option.value), ratios[first], "×")
    words = "; ".join(f"{name}: {significant(value)} times as long in pieces" for name, value in ratios.items())
    text = f"{words}. You said {option.value:g} times for the first token."
    rows = tuple((name, f"{significant(value)} ×", exact(value, "×")) for name, value in ratios.items())
    return Figure(
        "pieces", "Prompts in pieces against whole ones", Axis("log", "P99 in pieces over P99 whole", "×", (0.05, 10.0)),
        Axis("band", names=(gap, first)), (*bars, *rules), text, table=Table(("P99 of", "ratio", "exactly"), rows),
    )  # fmt: skip
