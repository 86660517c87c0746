"""Act II beside the learner's own machine: what one pass instead of many gains there."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.claims import row
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.labs.lab_07_fusion.act2 import fusion
from ironlaw.labs.lab_07_fusion.jobs import EAGER
from ironlaw.measure.experiments.trials import COMPILED_SHAPE, LENGTHS, WIDE, words
from ironlaw.pictures.lines import lines
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure

MICRO = "h200_sxm/micro"
CHAINS = {4: "sigmoid_relu_muladd", 24: "chain24"}  # ops -> what the evidence calls such a chain
RECORDED = (8192, 4096)  # its shape there: in FP16 as many bytes as WIDE in FP32
RELU = ("relu",)  # any pointwise op: it reads one tensor and writes one
Points = list[tuple[float, float]]


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {
        "three_op_chain": lambda run: lab.fill("act2.here_three", **three_slots(run)),
        "pointwise_chain": lambda run: lab.fill("act2.here_chain", **chain_slots(run)),
    }


def gains(run: kit.Measured, key: Callable[[dict[str, Any]], float]) -> dict[str, Points]:
    """Way of fusing -> (place on the axis, op by op over in one pass), from a measurement's rows."""
    eager = {key(dict(row["params"])): float(row["wall_s"]) for row in run.all(mode=EAGER)}
    series: dict[str, Points] = {}
    for way in run.ways():
        rows = [(key(dict(row["params"])), float(row["wall_s"])) for row in run.all(mode=way)]
        series[f"{words(way)}, {run.source}"] = [(place, eager[place] / wall) for place, wall in rows if place in eager]
    return series


def tensor(params: dict[str, Any]) -> float:
    """Bytes of the tensor."""
    a, b = params["shape"]
    return float(a * b * bytes_per_element(params["dtype"]))


def by_size(lab: kit.Lab) -> dict[str, Points]:
    run = lab.local_run("three_op_chain")
    return gains(run, tensor) if run else {}


def lengths(lab: kit.Lab) -> list[Figure]:
    """What one pass gains, by the number of ops: the model on the chosen device, the recorded chains, and here."""
    run = lab.local_run("pointwise_chain")
    if run is None:
        return []
    local = gains(run, lambda params: float(params["ops"]))
    series = {f"time, {lab.current_context.label} by the model": model(lab), "traffic": [(float(n), cut(RELU * n)) for n in LENGTHS]}
    return [
        lines(
            series, Axis("log", "ops in the chain", ticks=tuple(map(float, LENGTHS))), Axis("log", "gain from one pass", "×"),
            "What one pass saves, by length", measured={"H200, GPU time": list(recorded_chains())}, local=local,
            note=f"{WIDE[0]:,} × {WIDE[1]:,} numbers", id="lengths",
        )
    ]  # fmt: skip


def cut(kinds: tuple[str, ...]) -> float:
    """How often less traffic one pass makes, by the byte count."""
    graph = chain(kinds, WIDE)
    return float(graph.bytes / fuse(graph).graph.bytes)


def model(lab: kit.Lab) -> Points:
    return [(float(n), fusion.case(lab.current_context, RELU * n, WIDE, None, False).speedup) for n in LENGTHS]


@lru_cache(maxsize=1)
def recorded_chains() -> tuple[tuple[float, float], ...]:
    def busy(name: str, mode: str) -> float:
        return float(row(MICRO, name=name, shape=list(RECORDED), mode=mode).value("busy_s"))

    return tuple((float(n), busy(name, EAGER) / busy(name, "compiled")) for n, name in CHAINS.items())


def gain(run: kit.Measured, **settings: Any) -> tuple[str, float, float]:
    """(how it was fused, seconds op by op, seconds in one pass); compiled where it was."""
    way = next(way for way in reversed(run.ways()) if run.row(mode=way, **settings))
    eager, fused = run.row(mode=EAGER, **settings), run.row(mode=way, **settings)
    assert eager is not None and fused is not None
    return words(way), float(eager["wall_s"]), float(fused["wall_s"])


def three_slots(run: kit.Measured) -> dict[str, object]:
    way, eager, fused = gain(run, shape=list(COMPILED_SHAPE))
    walls = [
        float(row(MICRO, name="layernorm_dropout_relu", shape=list(COMPILED_SHAPE), mode=m).value("wall_s")) for m in (EAGER, "compiled")
    ]
    return {
        "shape": f"{COMPILED_SHAPE[0]:,} × {COMPILED_SHAPE[1]:,}", "way": way,
        "eager": kit.amount(eager, "s"), "fused": kit.amount(fused, "s"),
        "gain": kit.times(eager / fused), "most": kit.times(cut(fusion.THREE)), "recorded": kit.dress(significant(walls[0] / walls[1])),
    }  # fmt: skip


def chain_slots(run: kit.Measured) -> dict[str, object]:
    most = LENGTHS[-1]
    way, eager, fused = gain(run, ops=most)
    return {
        "ops": str(most), "way": way, "eager": kit.amount(eager, "s"), "fused": kit.amount(fused, "s"), "gain": kit.times(eager / fused),
        "most": kit.times(cut(RELU * most)), "recorded": kit.times(dict(recorded_chains())[most]),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("three_op_chain")
    if run is None:
        return {}
    way, eager, fused = gain(run, shape=list(COMPILED_SHAPE))
    return {
        "three_op_fusion_5x": kit.LocalFigure(eager / fused, "×", f"{way}, {COMPILED_SHAPE[0]:,} × {COMPILED_SHAPE[1]:,}; {run.source}")
    }
