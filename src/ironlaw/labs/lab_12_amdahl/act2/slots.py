"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.scaling.amdahl import amdahl, amdahl_ceiling, gustafson, karp_flatt, scaled_share
from ironlaw.engine.scaling.usl import usl, usl_peak
from ironlaw.labs.lab_12_amdahl.act1 import slots as first
from ironlaw.labs.lab_12_amdahl.act2.challenge import best
from ironlaw.labs.lab_12_amdahl.act2.instrument import given, story
from ironlaw.labs.lab_12_amdahl.act2.verdict import money
from ironlaw.labs.lab_12_amdahl.passes import DEVICE, HOST

SECOND = ((2.0, 1.8), (4.0, 2.4))  # the reflection's program: workers and speed-up
PEEK = (0.05, 0.001)  # a contention and a crosstalk to work with


def share(lab: kit.Lab) -> float:
    return float(karp_flatt(given(lab, "pair"), 2.0))


def message(lab: kit.Lab) -> dict[str, object]:
    return {
        "pair": kit.times(given(lab, "pair")), "cluster": f"{given(lab, 'cluster'):.0f}", "target": kit.times(given(lab, "target")),
        "hours": f"{story(lab).hours:.0f}", "runs": f"{story(lab).runs:.0f}",
    }  # fmt: skip


def lock(lab: kit.Lab) -> dict[str, object]:
    return {"pair": kit.times(given(lab, "pair")), "cluster": f"{given(lab, 'cluster'):.0f}"}


def truth(lab: kit.Lab) -> str:
    return str(kit.times(float(lab.question("act2").answer)))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    serial, cluster = share(lab), given(lab, "cluster")
    return {
        "pair": kit.times(given(lab, "pair")), "share": kit.amount(100 * serial, "%"), "cluster": f"{cluster:.0f}",
        "ceiling": kit.times(float(amdahl_ceiling(1.0 - serial))),
        "efficiency": kit.amount(100 * float(amdahl(serial, cluster)) / cluster, "%"), "target": kit.times(given(lab, "target")),
        "halved": kit.times(float(amdahl(serial / 2, cluster))), "double": kit.times(float(amdahl(serial, 2 * cluster))),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    (two, on_two), (four, on_four) = SECOND
    shares = [float(karp_flatt(speedup, n)) for n, speedup in SECOND]
    return {
        "on_two": kit.times(on_two), "on_four": kit.times(on_four), "two": f"{two:.0f}", "four": f"{four:.0f}",
        "share_two": kit.amount(100 * shares[0], "%"), "share_four": kit.amount(100 * shares[1], "%"),
        "law_four": kit.times(float(amdahl(shares[0], four))),
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    serial, cluster = share(lab), given(lab, "cluster")
    sigma, kappa = PEEK
    peak = usl_peak(sigma, kappa)
    other = float(scaled_share(serial, cluster))
    return {
        "pair": kit.times(given(lab, "pair")), "share": kit.amount(100 * serial, "%"), "cluster": f"{cluster:.0f}",
        "speedup": kit.times(float(amdahl(serial, cluster))), "sigma": f"{sigma:g}", "kappa": f"{kappa:g}", "peak": f"{peak:.1f}",
        "at_peak": kit.times(float(usl(peak, sigma, kappa))), "scaled": kit.amount(100 * other, "%"),
        "same": kit.times(float(gustafson(other, cluster))), "grows": kit.times(float(gustafson(serial, cluster))),
    }  # fmt: skip


def takeaways(lab: kit.Lab) -> dict[str, object]:
    case, least = first.asked(), best(lab)
    return {
        "share": kit.amount(100 * case.share(DEVICE), "%"), "most": kit.times(case.speedup(DEVICE, float("inf"))),
        "other": kit.times(case.speedup(HOST, float("inf"))), "pair": kit.times(given(lab, "pair")),
        "cluster": f"{given(lab, 'cluster'):.0f}", "speedup": kit.times(float(lab.question("act2").answer)),
        "workers": f"{least.workers:,}", "weeks": least.weeks, "cost": money(least.cost), "target": kit.times(given(lab, "target")),
    }  # fmt: skip
