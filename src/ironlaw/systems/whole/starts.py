"""Where a system starts: at what the labs' saved designs decided, and at the house's where nobody did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.systems.whole.design import Design
from ironlaw.systems.whole.search import snapped
from ironlaw.systems.whole.training import refusal

Designs = Mapping[str, Mapping[str, Any]]
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
FORMATS = {"weights": "bf16", "cache": "bf16"}
LAYOUT = ("gpus", "tensor", "pipeline", "context", "virtual", "recompute", "zero")


@dataclass(frozen=True)
class Start:
    """A design, and which lab gave which of its dials."""

    design: Design
    given: Mapping[str, str]


def start(designs: Designs) -> Start:
    """Values that no dial here has are left to the house; so is a layout that does not divide."""
    values = {dial: _value(dial, designs.get(lab, {}).get(name)) for dial, (lab, name) in FIELDS.items()}
    chosen = {dial: value for dial, value in values.items() if value is not None}
    if refusal(Design(**{dial: value for dial, value in chosen.items() if dial in LAYOUT})):
        chosen = {dial: value for dial, value in chosen.items() if dial not in LAYOUT}
    return Start(Design(**chosen), {dial: FIELDS[dial][0] for dial in chosen})


def _value(dial: str, value: Any) -> Any:
    if dial in FORMATS and value == "":
        return FORMATS[dial]  # as the machine multiplies
    return None if value is None else snapped(dial, value)
