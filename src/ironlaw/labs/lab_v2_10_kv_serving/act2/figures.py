"""Act II's pictures: P99 of both times against the promise, batch and line over time, and how long tokens took."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.labs.lab_v2_10_kv_serving.act2.said import OTHER_DRAWS, P99
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE, STORY_BUDGET, WINDOW
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import half_decades, up_to
from ironlaw.pictures.lines import Points, lines, upright
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.served_cases import ServedCase
from ironlaw.units import show_between
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

TIMES = (1e-3, 100.0)  # seconds
STEPS = 60  # points of a distribution


def place(case: ServedCase) -> str:
    many = f"{case.replicas}× " if case.replicas > 1 else ""
    return f"{about(case.model)['name']}, {many}{case.devices} {'device' if case.devices == 1 else 'devices'}"


def one_of_many(case: ServedCase) -> str:
    return "the first replica" if case.replicas > 1 else place(case)


def over_time(case: ServedCase, at: float) -> Figure:
    out = case.parts[0]
    series: dict[str, Points] = {"decoding": _steps(out, "batch"), "waiting": _steps(out, "waiting")}
    high = up_to(max(1.0, *(value for points in series.values() for _, value in points)))
    now = upright(min(at, WINDOW), f"{at:g} s", "now", "s", "accent", id="now", drag=hold("at"))
    return lines(
        series, Axis("linear", "time", "s", (0.0, WINDOW)), Axis("linear", "requests", "", (0.0, high)), "Batch and queue over time",
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
        upright(PROMISE.tbt, f"gap ≤ {format_quantity(PROMISE.tbt, 's')}", "limit on gaps", "s", "ink", id="slo-tbt"),
        upright(PROMISE.ttft, f"first ≤ {format_quantity(PROMISE.ttft, 's')}", "limit on first tokens", "s", "memory", id="slo-ttft"),
        mark("rule", "muted", y=100 * PROMISE.share, dash=True, id="share", name="P99", hover=[("the SLO covers", exact(99.0, "%"))]),
    ]
    return lines(
        series, Axis("log", "time", "s", TIMES), Axis("linear", "arrived within it", "%", (0.0, 105.0)), "How long tokens took",
        extra=extra, note=place(case), id="times",
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


def pieces(lab: kit.Lab, case: ServedCase, whole: Outcome, cut: Outcome) -> Figure:
    """P99 of both times: the question's two servers, and the server as set. `whole` and `cut`: prompts as they come, and in pieces."""
    servers = {"whole": whole, "in chunks": cut, **({"as set": case.outcome} if case.rig is not None else {})}
    promised = {"first token": PROMISE.ttft, "between tokens": PROMISE.tbt}
    marks: list[Mark] = []
    rows: list[tuple[str, str, str]] = []
    for time, seconds_of in P99.items():
        for server, out in servers.items():
            (seconds, between), row = seconds_of(out), f"{time}, {server}"
            over, text = ", too long" if seconds > promised[time] else "", show_between(seconds, *between, "s")
            marks.append(
                mark("point", "accent" if server == "as set" else "ink", x=min(max(seconds, TIMES[0]), TIMES[1]), y=row, id=row, name=row,
                     size=7, hollow=server == "whole", label=f"{text}{over}",
                     hover=[("P99", exact(seconds, "s")), ("the SLO allows", exact(promised[time], "s"))])
            )  # fmt: skip
            rows.append((row, text, exact(seconds, "s")))
    option, before = lab.choice("act2"), whole.ttft(PROMISE.share)
    if option is not None:
        marks += reveal_picture.rules(
            float(option.value), cut.ttft(PROMISE.share) / before, "×", base=before, between=OTHER_DRAWS["first token"]
        )
    text = "; ".join(f"{row}: {words}" for row, words, _ in rows) + "."
    at = [value for one in marks for key, value in one.at if key == "x"]
    return Figure(
        "pieces", "Chunks shorten the gaps and delay the first token", Axis("log", "P99", "s", half_decades(0.9 * min(at), 1.1 * max(at))),
        Axis("band", names=tuple(row for row, _, _ in rows)), tuple(marks), text, table=Table(("P99 of", "time", "exactly"), tuple(rows)),
        note=f"simulated, with chunks of {STORY_BUDGET} tokens",
    )  # fmt: skip
