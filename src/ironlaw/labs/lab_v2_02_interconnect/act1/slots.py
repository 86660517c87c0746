"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.collectives import bus_bandwidth, bus_factor
from ironlaw.engine.cluster.library import ring_pace
from ironlaw.engine.cluster.links import Box
from ironlaw.labs.lab_v2_02_interconnect.act1.ring import Setting
from ironlaw.registry.boxes import box
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.publications import published
from ironlaw.units import significant

PAIRS, OTHER, RANKS = "a100_pairs", "h100_pairs", 4
LONG, SHORT = 1e8, 1e6  # bytes from which the premise speaks, and of a message that is half start


def timed(slug: str, ranks: int) -> tuple[float, float]:
    """(bytes, bus bandwidth) of the longest message that others timed."""
    row = max(published("vidur_all_reduce").where(box=slug, ranks=ranks, per_box=ranks), key=lambda each: float(each["size"]))
    return float(row["size"]), float(bus_bandwidth("all_reduce", ranks, float(row["size"]), float(row["median"])))


def cliffs() -> list[tuple[str, float, float]]:
    """(name, before, after), each in bytes per second and one direction."""
    link, port, host, dgx = interconnect("nvlink4"), interconnect("ndr400"), interconnect("pcie5_x16"), box("dgx_a100")
    reported = published("nccl_issues")
    return [
        ("NVLink 4 of one device to one NDR port, as built", link.per_direction, port.per_direction),
        ("NVLink 4 of one device to PCI Express 5, as built", link.per_direction, host.per_direction),
        ("all-reduce, one box of A100 to two, eight ports per box, as reported",
         float(reported.value("bus", ports=0)), float(reported.value("bus", ports=8))),
        ("all-reduce, one DGX A100 to two, one port per box, by the model", paced(dgx, 8), paced(dgx, 16, nics=1)),
        ("all-reduce, one pair of A100 to all four, as timed", timed(PAIRS, 2)[1], timed(PAIRS, RANKS)[1]),
    ]  # fmt: skip


def paced(at: Box, ranks: int, nics: int | None = None) -> float:
    """Bytes per second of a ring's slowest edge; a fast link gives what was fitted to timed rows, not what it is planned with."""
    return ring_pace(at, ranks, nics)[1]


def message() -> dict[str, object]:
    size, bus = timed(PAIRS, 2)
    return {"pair": kit.amount(bus, "B/s"), "size": kit.amount(size, "B")}


def lock() -> dict[str, object]:
    bridge = box(PAIRS).bridge
    assert bridge is not None
    return {"long": kit.amount(LONG, "B"), "built": kit.amount(bridge.per_direction, "B/s")}


def truth(lab: kit.Lab) -> str:
    return kit.amount(1e9 * float(lab.question("act1").answer), "B/s")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal() -> dict[str, object]:
    at = box(PAIRS)
    size, four = timed(PAIRS, RANKS)
    _, two = timed(PAIRS, 2)
    assert at.link is not None and at.bridge is not None
    return {
        "link": kit.amount(at.link.achieved, "B/s"), "bridge": kit.amount(at.bridge.achieved, "B/s"), "four": kit.amount(four, "B/s"),
        "two": kit.amount(two, "B/s"), "size": kit.amount(size, "B"), "fall": kit.times(two / four, 2),
        "small": kit.amount(SHORT, "B"), "at_small": kit.amount(Setting(at, 2, size=SHORT).bus, "B/s"),
        "built": kit.amount(at.bridge.per_direction, "B/s"),
        "mean": kit.amount((two + at.bridge.achieved) / 2, "B/s", 2), "ranks": RANKS,
    }  # fmt: skip


def _other_box() -> dict[str, object]:
    """The share of PCI Express that was fitted to A100 in pairs, tried on H100 in pairs."""
    size, _ = timed(OTHER, RANKS)
    return {"other": kit.amount(Setting(box(OTHER), RANKS, size=size).bus, "B/s")}


def reflection() -> dict[str, object]:
    cases = {"pair": (PAIRS, 2), "next_pair": (OTHER, 2), "four": (PAIRS, RANKS), "next_four": (OTHER, RANKS)}
    return {**{name: kit.amount(timed(*case)[1], "B/s") for name, case in cases.items()}, **_other_box()}


def peek() -> dict[str, object]:
    at, nvlink, port = box(PAIRS), interconnect("nvlink4"), interconnect("ndr400")
    rate, four = paced(at, RANKS), Setting(at, RANKS, size=LONG)
    return {
        "printed": kit.amount(nvlink.advertised, "B/s"), "one_way": kit.amount(nvlink.per_direction, "B/s"),
        "lanes": kit.amount(interconnect("pcie4_x16").per_direction, "B/s"), "hops": four.steps, "alpha": kit.amount(four.alpha, "s"),
        "latency": kit.amount(four.latency, "s"), "bits": significant(8 * port.per_direction / 1e9),
        "port": kit.amount(port.per_direction, "B/s"), "long": kit.amount(LONG, "B"), "rate": kit.amount(rate, "B/s"), "ranks": RANKS,
        "seconds": kit.amount(float(bus_factor("all_reduce", RANKS)) * LONG / rate, "s"),
        "algorithm": kit.amount(rate / float(bus_factor("all_reduce", RANKS)), "B/s"),
    }  # fmt: skip
