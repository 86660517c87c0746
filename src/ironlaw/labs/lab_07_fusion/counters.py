"""What the hardware counters saw of the three-op chain, eager and compiled: the measurement that the byte count meets."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_07_fusion import explorer
from ironlaw.registry.claims import row
from ironlaw.units import significant


def slots() -> dict[str, object]:
    """What the hardware counters say about the three ops, and how the GPU time went."""
    found, tensor = explorer.counters(), 2.0 * 16384 * 8192
    eager = [found[name] for name in explorer.THREE]
    moved = sum(item["read"] + item["written"] for item in eager)
    fused = found["fused"]
    times = {mode: row("h200_sxm/micro", name="layernorm_dropout_relu", shape=[16384, 8192], mode=mode) for mode in ("eager", "compiled")}
    return {
        "eager_bytes": kit.amount(moved, "B"), "compiled_bytes": kit.amount(fused["read"] + fused["written"], "B"),
        "counted_cut": kit.times(moved / (fused["read"] + fused["written"])), 
        "norm_reads": kit.times(found["layer_norm"]["read"] / tensor, 2),
        "fused_writes": kit.times(fused["written"] / tensor, 2), "eager_busy": kit.amount(times["eager"]["busy_s"], "s"),
        "compiled_busy": kit.amount(times["compiled"]["busy_s"], "s"), "kernels": significant(times["compiled"]["kernels"]),
        "measured_gain": kit.times(times["eager"]["wall_s"] / times["compiled"]["wall_s"]), "tensor": kit.amount(tensor, "B"),
    }  # fmt: skip
