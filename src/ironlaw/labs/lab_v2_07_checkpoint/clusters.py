"""Which job a context stands for: how many GPUs, and how often one of them fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.failures import mtbf
from ironlaw.registry.boxes import box
from ironlaw.registry.publications import published
from ironlaw.registry.runs import about, published_shapes, unit_between_failures

LLAMA, RSC, JOB, LARGE, SAVED = "llama3", "rsc1", "job", "large", "saved"
RUN, MODEL, BOX = "llama3_2024", "llama3_405b", "dgx_h100"
PARALLELISM, INTERCONNECT = "lab_v2_05_parallelism", "lab_v2_02_interconnect"
FEWEST, MOST = 64, 131_072  # GPUs
GPUS = {JOB: 1024, LARGE: MOST}
HOUR = 3600.0


@dataclass(frozen=True)
class Cluster:
    """`unit`: seconds between failures of one GPU."""

    gpus: int
    unit: float
    parameters: float

    @property
    def between(self) -> float:
        """Seconds between failures of the whole job."""
        return float(mtbf(self.unit, self.gpus))


def llama() -> Cluster:
    stops = about(RUN)["interruptions"]
    return Cluster(int(stops["devices"]), unit_between_failures(RUN), float(published_shapes()[MODEL].parameters))


def research() -> Cluster:
    """RSC-1 as its nodes' rate projects it."""
    row = published("cluster_failures").where(kind="projected")[0]
    node = 1000 * 86400.0 / float(row["rate"])
    return Cluster(int(row["devices"]), node * box(BOX).devices, llama().parameters)


def earlier(lab: kit.Lab) -> dict[str, Any]:
    """What Lab V2-05 saved; empty where the learner was not there."""
    design = lab.ledger.design(PARALLELISM) or {}
    return dict(design) if _counts(design.get("devices")) and _counts(design.get("parameters")) else {}


def _counts(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 1


def cluster_of(lab: kit.Lab) -> Cluster:
    """The context's job; Llama 3's where a layout is asked for and none was saved."""
    slug, story = lab.current_context.slug, llama()
    if slug == RSC:
        return research()
    if slug == SAVED:
        design = earlier(lab)
        if not design:
            return story
        return Cluster(min(MOST, max(FEWEST, int(design["devices"]))), story.unit, float(design["parameters"]))
    return Cluster(GPUS.get(slug, story.gpus), story.unit, story.parameters)


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """Between a GPU and its host, the rate of the box that Lab V2-02 saved."""
    saved = (lab.ledger.design(INTERCONNECT) or {}).get("host_bytes_per_s")
    return [kit.Offer(INTERCONNECT, "box", {"host": saved / 1e9})] if isinstance(saved, (int, float)) and saved > 0 else []


def bridge_rate() -> float:
    """The rate from a DGX H100's GPU to its host."""
    bridge = box(BOX).bridge
    assert bridge is not None
    return bridge.achieved
