"""Where the dials of Act II begin: at the learner's designs, or at the course's; and which lab gives what."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.kit.learner_keys import designs, events_before
from ironlaw.lab_names import name
from ironlaw.systems.whole import Design, starts
from ironlaw.systems.whole.starts import Designs, Start

HOUSE = "house"
# dial -> (lab, field of its design)
FIELDS = {
    "gpus": ("lab_v2_05_parallelism", "devices"),
    "tensor": ("lab_v2_05_parallelism", "tensor"),
    "pipeline": ("lab_v2_05_parallelism", "pipeline"),
    "context": ("lab_v2_05_parallelism", "context_parallel"),
    "virtual": ("lab_v2_05_parallelism", "virtual"),
    "recompute": ("lab_v2_05_parallelism", "recompute"),
    "zero": ("lab_v2_05_parallelism", "zero"),
    "nics": ("lab_v2_02_interconnect", "nics"),
    "thin": ("lab_v2_03_fabric", "leaf_thin"),
    "scattered": ("lab_v2_03_fabric", "placed_scattered"),
    "saving": ("lab_v2_07_checkpoint", "saving"),
    "near": ("lab_v2_07_checkpoint", "near"),
    "near_every": ("lab_v2_07_checkpoint", "near_interval_s"),
    "far_every": ("lab_v2_07_checkpoint", "far_interval_s"),
    "group": ("lab_v2_10_kv_serving", "devices"),
    "most": ("lab_v2_10_kv_serving", "most"),
    "budget": ("lab_v2_10_kv_serving", "budget"),
    "weights": ("lab_v2_10_kv_serving", "weights"),
    "cache": ("lab_v2_10_kv_serving", "cache"),
    "hedge": ("lab_v2_12_slo", "hedge"),
    "retries": ("lab_v2_12_slo", "retries"),
    "noise": ("lab_v2_13_privacy", "noise"),
}
# lab -> what of the system it decides
GIVES = {
    "lab_v2_02_interconnect": "the NICs per server",
    "lab_v2_03_fabric": "the spine and the placement of nodes",
    "lab_v2_05_parallelism": "GPUs and layout",
    "lab_v2_07_checkpoint": "checkpoints and their intervals",
    "lab_v2_10_kv_serving": "the servers",
    "lab_v2_12_slo": "hedged copies and retries",
    "lab_v2_13_privacy": "the noise in fine-tuning",
}


def start(designs: Designs) -> Start:
    return starts.start(designs, FIELDS)


def start_of(lab: kit.Lab) -> Start:
    """The learner's own, as the ledger had it when Act II's prediction was committed."""
    return start(designs(events_before(lab.ledger.events(), lab.slug, "act2"), lab.slug))


def shown(lab: kit.Lab) -> Design:
    """Where the dials begin in this context."""
    return Design() if lab.current_context.slug == HOUSE else start_of(lab).design


def given(lab: kit.Lab) -> str:
    """Which labs' designs are in it, in words; empty where none is."""
    labs = dict.fromkeys(start_of(lab).given.values())
    return _and([name(slug) for slug in labs])


def missing(lab: kit.Lab) -> str:
    """Which labs would give what is the course's now."""
    have = set(start_of(lab).given.values())
    return _and([f"{name(slug)} ({what})" for slug, what in GIVES.items() if slug not in have])


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


assert set(GIVES) <= {lab for lab, _ in FIELDS.values()}
