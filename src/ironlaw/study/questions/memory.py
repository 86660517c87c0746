"""What a training step holds in memory, and whether a device holds it: a point is what `ironlaw memory` answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.layers import layers
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import ATTENTION, Setup, ledger
from ironlaw.registry.machines import registered
from ironlaw.registry.workloads import workload
from ironlaw.study.question import Question, Result, flag, one_of, whole
from ironlaw.study.questions.names import MACHINE, MODEL


def answer(point: Mapping[str, Any]) -> dict[str, Any]:
    settings = {} if point["seq"] is None else {"seq": point["seq"]}

    def build(batch: int, dtype: str) -> Graph:
        return workload(point["model"], batch=batch, dtype=dtype, **settings)

    recipe = point["recipe"]
    segments = len(layers(build(point["batch"], RECIPES[recipe].dtype))) if point["checkpoint"] == "all" else 0
    held = ledger(
        build,
        Setup(
            recipe, point["optimiser"], point["batch"], point["accumulate"], segments, point["loss_chunks"], point["attention"],
            point["zero"], point["devices"], point["offload"],
        ),
    )  # fmt: skip
    usable, peak = float(registered(point["machine"]).usable), float(held.peak)
    return {
        "peak_bytes": peak, "static_bytes": float(held.static.total), "kept_bytes": float(held.kept), "headroom_bytes": usable - peak,
        "fits": bool(held.fits(usable)), "peak_phase": held.peak_at.phase,
    }  # fmt: skip


QUESTION = Question(
    "memory",
    "what a training step holds in memory",
    1,
    (
        MODEL,
        MACHINE,
        one_of("recipe", "formats of weights and gradients", lambda: RECIPES, "fp32"),
        one_of("optimiser", "what the optimiser remembers", lambda: OPTIMISERS, "adamw"),
        whole("batch", "samples of a micro-batch", 1),
        whole("seq", "tokens of a sequence (default: the model's)", None),
        whole("accumulate", "micro-batches an update", 1),
        one_of("checkpoint", "which layers are recomputed", lambda: ("none", "all"), "none"),
        whole("loss_chunks", "pieces that the loss is computed in", 1),
        one_of("attention", "one kernel, or three that store the scores", lambda: ATTENTION, "fused"),
        whole("zero", "ZeRO's stage", 0, least=0),
        whole("devices", "devices that share with ZeRO", 1),
        flag("offload", "optimiser and master copy in the host's memory", False),
    ),
    (
        Result("peak_bytes", "the most that is held at once", "B", "low"),
        Result("static_bytes", "weights, gradients, optimiser", "B", "low"),
        Result("kept_bytes", "activations kept for the backward pass", "B", "low"),
        Result("headroom_bytes", "what the device has left", "B", "high"),
        Result("fits", "whether the device holds it", column="bool"),
        Result("peak_phase", "when the peak is", column="string"),
    ),
    answer,
    "peak_bytes",
    "fits",
)
