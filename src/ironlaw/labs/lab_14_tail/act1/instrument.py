"""Act I: one server, two testers. Dials, readouts, formula and notes; nothing is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.samples import order_interval
from ironlaw.kit.context import the
from ironlaw.kit.formula import line
from ironlaw.labs.lab_14_tail import work
from ironlaw.labs.lab_14_tail.act1 import figures
from ironlaw.labs.lab_14_tail.act1.case import LARGEST, MOVING, Case, case_of
from ironlaw.pictures.reveal import rules
from ironlaw.widget.figure import tabbed

CLAIMS = ("test_sees_users_p99", "p99_from_mean", "average_of_p99s")
FAR = 2.0  # the tester is wrong where the users' P99 is this many times as long
COUNTS = (100, 200, 300, 368, 1_000, 2_995, 10_000, LARGEST)


def dials(lab: kit.Lab) -> Any:
    first = Case()

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        works = [("asked", "as in the question"), ("device", f"an image on {the(lab.current_context)}"), ("own", "as set")]
        return [
            kit.span("rate", "Users come at", 10, 1000, first.rate, unit="/s", log=True, whole=True),
            kit.choice("work", "A request takes", works, "asked"),
            {**kit.span("service", "Service", 0.1, 50, 1, step=0.1, unit="ms", log=True), "hidden": values.get("work", "asked") != "own"},
            kit.span("stopped", "Stopped, share of the time", 0, 60, 100 * first.stopped, unit="%"),
            kit.span("period", "One stall in every", 1, 200, first.period, unit="s", log=True, whole=True),
            kit.span("connections", "Connections of the tester", 1, 64, first.connections, log=True, whole=True),
            kit.span("n", "Requests counted", COUNTS[0], COUNTS[-1], first.n, log=True, whole=True, presets=list(COUNTS[2:])),
            kit.switch("corrected", "Fill in what the tester left out", first.corrected),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(lab, values)
    pictures = [
        tabbed(figures.percentiles(case, marks_of(lab)), "Percentiles"), tabbed(figures.triangle(case), "Around a stall"),
        tabbed(figures.requests(case), "All requests"),
    ]  # fmt: skip
    return kit.View(
        pictures, cards(case), formula(case), banner(lab, case), notes(lab, case, bool(values.get("moving"))), readouts(lab, case)
    )


def marks_of(lab: kit.Lab) -> tuple[Any, ...]:
    """Where you said it would be, and where it is at the question's own setting."""
    option = lab.choice("act1")
    return rules(float(option.value), float(lab.question("act1").answer), "s", truth_label="users' P99 is") if option else ()


def readouts(lab: kit.Lab, case: Case) -> dict[str, Any]:
    return {
        "rate": round(case.rate, 3), "stall_s": round(case.stall, 4), "open_p99_s": round(case.users.quantile(0.99), 6),
        "closed_p99_s": round(case.tester.quantile(0.99), 6), "requests_counted": case.n, "load": round(case.load, 4),
    }  # fmt: skip


def cards(case: Case) -> list[dict[str, Any]]:
    users, tester = case.users.quantile(0.99), case.tester.quantile(0.99)
    wrong = users > FAR * tester
    return [
        kit.card("P99 of the users", users, "s", note="counted from when they asked"),
        {**kit.card("P99 of the test", tester, "s", note="filled in" if case.corrected else "counted from when it sent"),
         "tone": "bad" if wrong else "good", "word": "misses it" if wrong else "agrees"},
        {"label": "Never sent", "value": f"{case.unsent:,}", "unit": "", "note": "requests due while it waited"},
        kit.card("A stall", case.stall, "s", note=f"{case.stopped * 100:.3g} % of the time"),
    ]  # fmt: skip


def formula(case: Case) -> str:
    """The users' P99 as long as it lies in the triangle, and the ranks between which a sample of this size puts it."""
    spare = 1 - case.rate * case.service
    value = case.stall + case.service - 0.01 * case.period * spare
    low, high = order_interval(case.n, 0.99)
    ranks = f"rank {f'{low:,}' if low else '–'} to {f'{high:,}' if high else 'beyond the largest'} of {case.n:,}"
    lines = line("95 % band of <i>P</i><sub>99</sub>:", ranks)
    if case.load >= 1 or value <= case.service:
        return lines
    symbols = "<i>P</i><sub>99</sub> = <i>L</i> + <i>s</i> − 1 % · <i>T</i> · (1 − <i>λs</i>)"
    figures_in = f"= {_s(case.stall)} + {_s(case.service)} − 1 % · {_s(case.period)} · {kit.amount(spare)}"
    return line(symbols) + line(figures_in, "=", _s(value)) + lines


def _s(value: float) -> str:
    return kit.amount(value, "s")


def banner(lab: kit.Lab, case: Case) -> dict[str, Any]:
    users, tester = case.users.quantile(0.99), case.tester.quantile(0.99)
    slots = {"users": _s(users), "tester": _s(tester)}
    if case.load >= 1:
        text = lab.fill("act1.endless", load=kit.amount(100 * case.load, "%"), last=_s(case.users.seconds[-1]), tester=_s(tester))
        return kit.banner("fail", "The line never ends", kit.html(text))
    if case.stall > 0 and not case.saw_a_stall:
        text = lab.fill("act1.unseen", first=_s(case.stalls.first), n=f"{case.n:,}")
        return kit.banner("warn", "The test was over too soon", kit.html(text))
    if users > FAR * tester:
        return kit.banner("fail", "The test misses it", kit.html(lab.fill("act1.misses", **slots, unsent=f"{case.unsent:,}")))
    if tester > FAR * users:
        return kit.banner("warn", "Filled in too much", kit.html(lab.fill("act1.too_much", **slots, connections=f"{case.connections}")))
    return kit.banner("good", "The test agrees with the users", kit.html(lab.fill("act1.agrees", **slots)))


def notes(lab: kit.Lab, case: Case, moving: bool) -> str:
    paragraphs = [lab.fill("act1.moving", moving=f"{MOVING:,}")] if moving else []
    paragraphs += [lab.fill("act1.bands", confidence=kit.amount(95, "%"))]
    if case.corrected:
        paragraphs.append(lab.fill("act1.filled", interval=_s(1 / case.rate)))
    paragraphs.append(lab.fill("act1.work", device=the(lab.current_context), image=_s(work.seconds(lab))))
    return kit.html("\n\n".join(paragraphs))
