"""α and β of boxes on which others timed a ring over many sizes: seconds per step, and bytes per second of the busiest wire."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ironlaw.engine.cluster.alpha_beta import Wire
from ironlaw.errors import BadRegistry
from ironlaw.registry.publications import published

TABLE = "vidur_fits"
PCI_EXPRESS = ("a100_pairs", 4)  # a ring whose every step waits for PCI Express
TUNED = {"link": "nvlink", "nic": "net"}  # kind of wire -> its name in NCCL's tuner


class TimedWire(NamedTuple):
    """The two numbers, their mean error over the rows that they were fitted to, and how many those are."""

    wire: Wire
    error: float
    rows: int


@lru_cache(maxsize=16)
def timed_wire(box: str, ranks: int) -> TimedWire:
    """`timed_wire("dgx_h100", 8)`. `scripts/fit_wires.py` fitted it; the rows are with their source."""
    rows = published(TABLE).where(box=box, ranks=ranks)
    if not rows:
        raise BadRegistry(f"published table {TABLE} has no fit of {ranks} ranks on {box!r}; add it, or ask for one that it has")
    row = rows[0]
    return TimedWire(Wire(float(row["alpha"]), float(row["beta"])), float(row["error"]) / 100, int(row["sizes"]))


def step_latency(kind: str) -> float:
    """Seconds that a step of a ring takes beside its bytes on a "link", a "bridge" or a "nic", with large messages.

    NCCL's tuner plans with a figure for NVLink and one for the network; PCI Express has what timed all-reduces come to.
    """
    if kind == "bridge":
        return timed_wire(*PCI_EXPRESS).wire.alpha
    return float(published("nccl_tuning").value("step", wire=TUNED[kind], algorithm="ring", protocol="Simple"))
