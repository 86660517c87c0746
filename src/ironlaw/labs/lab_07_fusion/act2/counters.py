"""What the hardware counters saw of the three-op chain, eager and compiled: the measurement that the byte count meets."""

from __future__ import annotations

from functools import lru_cache

from ironlaw import kit
from ironlaw.claims import claim, row
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.fusion import fuse
from ironlaw.labs.lab_07_fusion.act2 import fusion
from ironlaw.registry.machines import hardware
from ironlaw.units import significant


@lru_cache(maxsize=1)
def slots() -> dict[str, object]:
    """What the hardware counters say about the three ops, and how the GPU time went."""
    counts, tensor = fusion.counters(), 2.0 * 16384 * 8192
    kernels = [counts[name] for name in fusion.THREE]
    eager_bytes = sum(item["read"] + item["written"] for item in kernels)
    fused = counts["fused"]
    times = {mode: row("h200_sxm/micro", name="layernorm_dropout_relu", shape=[16384, 8192], mode=mode) for mode in ("eager", "compiled")}
    return {
        "eager_bytes": kit.amount(eager_bytes, "B"), "compiled_bytes": kit.amount(fused["read"] + fused["written"], "B"),
        "counted_cut": kit.dress(significant(eager_bytes / (fused["read"] + fused["written"]), 2)),
        "norm_reads": kit.dress(significant(counts["layer_norm"]["read"] / tensor, 2)),
        "dropout_writes": kit.dress(significant(counts["dropout"]["written"] / tensor, 2)),
        "fused_writes": kit.dress(significant(fused["written"] / tensor, 2)), "eager_busy": kit.amount(times["eager"].value("busy_s"), "s"),
        "compiled_busy": kit.amount(times["compiled"].value("busy_s"), "s"), "kernels": significant(times["compiled"].value("kernels")),
        "measured_gain": kit.dress(significant(times["eager"].value("wall_s") / times["compiled"].value("wall_s"))),
        "tensor": kit.amount(tensor, "B"),
        "promised": kit.dress(significant(promised())), **_side_by_side(tensor),
    }  # fmt: skip


def promised() -> float:
    """The cut in traffic by counting: what each of the three ops has to read and write, against one pass."""
    graph = chain(fusion.THREE, (16384, 8192))
    return float(graph.bytes / fuse(graph).graph.bytes)


def own_gain() -> float:
    """GPU time of eager PyTorch over that of a kernel written for the three ops. It may exceed the model's limit."""
    return _kernel("eager") / _kernel("triton")


def _side_by_side(tensor: float) -> dict[str, object]:
    """The same three ops as claimed, as modelled, by PyTorch, by its compiler and by a kernel of our own, over a plain copy."""
    ways = {"plain": "eager", "compiler": "compiled", "own": "triton", "copy": "copy"}
    busy = {name: _kernel(mode) for name, mode in ways.items()}
    busy["claimed"] = busy["plain"] / claim("three_op_fusion_5x").value
    busy["model"] = 2 * tensor / float(hardware("h200_sxm").bandwidth)
    traffic = row("h200_sxm/traffic", op="one_pass", shape=[16384, 8192])
    slots: dict[str, object] = {
        "own_bytes": kit.amount(traffic.value("read_bytes") + traffic.value("written_bytes"), "B"),
        "own_gain": kit.dress(significant(own_gain())),
    }
    for name, seconds in busy.items():
        slots |= {f"{name}_time": kit.amount(seconds, "s"), f"{name}_over": kit.times(seconds / busy["copy"], 3)}
    return slots


def _kernel(mode: str) -> float:
    return float(row("h200_sxm/kernels", name="layernorm_dropout_relu", shape=[16384, 8192], mode=mode).value("busy_s"))
