"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.collectives import bus_bandwidth, bus_factor
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import ring_bandwidth
from ironlaw.registry.boxes import box
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.publications import published
from ironlaw.units import significant

PAIRS, RANKS = "a100_pairs", 4
LONG, SHORT = 1e8, 1e6  # bytes from which the premise speaks, and of a message that is half start


def timed(slug: str, ranks: int) -> tuple[float, float]:
    """(bytes, bus bandwidth) of the longest message that others timed."""
    row = max(published("vidur_all_reduce").where(box=slug, ranks=ranks, per_box=ranks), key=lambda each: float(each["size"]))
    return float(row["size"]), float(bus_bandwidth("all_reduce", ranks, float(row["size"]), float(row["median"])))


def cliffs() -> list[tuple[str, float, float]]:
    """(name, before, after), each in bytes a second and one direction."""
    link, port, host, dgx = interconnect("nvlink4"), interconnect("ndr400"), interconnect("pcie5_x16"), box("dgx_a100")
    pairs = box(PAIRS)
    return [
        ("one device's NVLink 4 to one NDR port, built for", link.per_direction, port.per_direction),
        ("one device's NVLink 4 to PCI Express 5, built for", link.per_direction, host.per_direction),
        ("all-reduce, one DGX A100 to two, eight ports each", ring_bandwidth(dgx, 8), ring_bandwidth(dgx, 16)),
        ("all-reduce, one DGX A100 to two, one port each", ring_bandwidth(dgx, 8), ring_bandwidth(dgx, 16, nics=1)),
        ("all-reduce, two A100 of a pair to all four", ring_bandwidth(pairs, 2), ring_bandwidth(pairs, RANKS)),
    ]


def message() -> dict[str, object]:
    size, bus = timed(PAIRS, 2)
    return {"pair": kit.amount(bus, "B/s"), "size": kit.amount(size, "B")}


def lock() -> dict[str, object]:
    return {"long": kit.amount(LONG, "B")}


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
        "small": kit.amount(SHORT, "B"), "at_small": kit.amount(SHORT / float(collective(at, "all_reduce", 2, SHORT)), "B/s"),
        "built": kit.amount(at.bridge.per_direction, "B/s"),
        "mean": kit.amount((at.link.achieved + at.bridge.achieved) / 2, "B/s", 2), "ranks": RANKS,
    }  # fmt: skip


def reflection() -> dict[str, object]:
    at = box(PAIRS)
    return {
        "third": kit.times(ring_bandwidth(at, 2) / ring_bandwidth(at, 3), 2),
        "fourth": kit.times(ring_bandwidth(at, 3) / ring_bandwidth(at, 4), 2),
        "bytes_two": significant(float(bus_factor("all_reduce", 2))), "bytes_three": significant(float(bus_factor("all_reduce", 3))),
        "bytes_four": significant(float(bus_factor("all_reduce", 4))), "start": kit.amount(at.start, "s"),
        "long": kit.amount(LONG, "B"), "whole": kit.amount(1.5 * LONG / ring_bandwidth(at, 4), "s"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    at, nvlink, port = box(PAIRS), interconnect("nvlink4"), interconnect("ndr400")
    rate = ring_bandwidth(at, RANKS)
    return {
        "printed": kit.amount(nvlink.advertised, "B/s"), "one_way": kit.amount(nvlink.per_direction, "B/s"),
        "bits": significant(8 * port.per_direction / 1e9),
        "port": kit.amount(port.per_direction, "B/s"), "long": kit.amount(LONG, "B"), "rate": kit.amount(rate, "B/s"), "ranks": RANKS,
        "seconds": kit.amount(float(bus_factor("all_reduce", RANKS)) * LONG / rate, "s"),
        "algorithm": kit.amount(rate / float(bus_factor("all_reduce", RANKS)), "B/s"),
    }  # fmt: skip
