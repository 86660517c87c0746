"""Act I: one server, two testers. Dials, readouts, formula and notes; nothing is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.samples import order_interval
from ironlaw.kit import settings
from ironlaw.kit.context import the
from ironlaw.kit.formula import line
from ironlaw.labs.lab_14_tail import work
from ironlaw.labs.lab_14_tail.act1 import figures, local_runs
from ironlaw.labs.lab_14_tail.act1.case import MOVING, Case, case_of
from ironlaw.pictures.reveal_picture import rules
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import percent
from ironlaw.widget.figure import tabbed

CLAIMS = ("test_sees_users_p99", "average_of_p99s", "p99_from_mean")
MORE = ("work", "service")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        works = {"asked": "as in the question", "device": f"one image on {the(lab.current_context)}", "own": "my own"}
        return settings.dials(Case, work={"options": works}, service={"hidden": values.get("work", "asked") != "own"})

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(lab, values)
    pictures = [
        tabbed(figures.triangle(case, marks_of(lab)), "Around a stall"),
        tabbed(figures.percentiles(case, marks_of(lab), local_runs.dots(lab)), "Percentiles"),
        tabbed(figures.requests(case), "All requests"),
    ]  # fmt: skip
    return kit.View(
        pictures,
        cards(case),
        formula(case),
        settings.verdict(lab, "act1", LIMITS, case),
        notes(lab, case, bool(values.get("moving"))),
        readouts(case),
    )


def marks_of(lab: kit.Lab) -> tuple[Any, ...]:
    """Where you said it would be, and where it is at the question's own setting."""
    option = lab.choice("act1")
    return rules(float(option.value), float(lab.question("act1").answer), "s", truth_label="users' P99 is") if option else ()


def readouts(case: Case) -> dict[str, Any]:
    return {
        "rate": round(case.rate, 3), "stall_s": round(case.stall, 4), "open_p99_s": round(case.users.quantile(0.99), 6),
        "closed_p99_s": round(case.tester.quantile(0.99), 6), "requests_counted": case.n, "load": round(case.load, 4),
    }  # fmt: skip


def cards(case: Case) -> list[dict[str, Any]]:
    users, tester = case.users.quantile(0.99), case.tester.quantile(0.99)
    word = "misses the stall" if case.is_missed() else "too high" if case.is_overfilled() else "agrees"
    return [
        kit.card("Users' P99", users, "s", note="from when they asked"),
        {**kit.card("Test's P99", tester, "s", note="filled in" if case.corrected else "from when it sent"),
         "tone": "good" if word == "agrees" else "bad", "word": word},
        kit.text_card("Never sent", f"{case.unsent:,}", note="requests that came due while it waited"),
        kit.card("A stall", case.stall, "s", note=f"{percent(case.stopped)} of the time"),
    ]  # fmt: skip


def formula(case: Case) -> str:
    """The users' P99 as long as it lies in the triangle, and the ranks between which a sample of this size puts it."""
    spare = 1 - case.rate * case.service
    value = case.stall + case.service - 0.01 * case.period * spare
    low, high = order_interval(case.n, 0.99)
    ranks = f"rank {f'{low:,}' if low else '–'} to {f'{high:,}' if high else 'beyond the largest'} of {case.n:,}"
    lines = line("95% band of <i>P</i><sub>99</sub>:", ranks)
    if case.load >= 1 or value <= case.service:
        return lines
    symbols = "<i>P</i><sub>99</sub> = <i>L</i> + <i>s</i> − 1% · <i>T</i> · (1 − <i>λs</i>)"
    figures_in = f"= {_s(case.stall)} + {_s(case.service)} − 1% · {_s(case.period)} · {kit.amount(spare)}"
    return line(symbols) + line(figures_in, "=", _s(value)) + lines


def _s(value: float) -> str:
    return kit.amount(value, "s")


def _both(case: Case) -> dict[str, object]:
    return {"users": _s(case.users.quantile(0.99)), "tester": _s(case.tester.quantile(0.99))}


def _endless(case: Case) -> dict[str, object]:
    tester = _s(case.tester.quantile(0.99))
    return {"load": kit.amount(100 * case.load, "%"), "last": _s(case.users.seconds[-1]), "tester": tester}


LIMITS = (
    fail("endless", "The queue never stops growing", lambda case: case.load >= 1, _endless),
    warn(
        "unseen",
        "The test was over too soon",
        lambda case: case.stall > 0 and not case.saw_a_stall,
        lambda case: {"first": _s(case.stalls.first), "n": f"{case.n:,}"},
    ),
    fail("misses", "The test misses the stall", Case.is_missed, lambda case: _both(case) | {"unsent": f"{case.unsent:,}"}),
    warn("too_much", "Too much filled in", Case.is_overfilled, lambda case: _both(case) | {"connections": f"{case.connections}"}),
    good("agrees", "The test agrees with the users", _both),
)


def notes(lab: kit.Lab, case: Case, moving: bool) -> str:
    paragraphs = [lab.fill("act1.moving", moving=f"{MOVING:,}")] if moving else []
    paragraphs += [lab.fill("act1.bands", confidence=kit.amount(95, "%"))]
    if case.corrected:
        paragraphs.append(lab.fill("act1.filled", interval=_s(1 / case.rate)))
    paragraphs.append(lab.fill("act1.work", device=the(lab.current_context), image=_s(work.seconds(lab))))
    return kit.html("\n\n".join(paragraphs))
