"""Both acts beside the learner's own machine: what an op costs there, how long the spotter takes, what one pass instead of many gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.chains import chain
from ironlaw.engine.fusion import fuse
from ironlaw.engine.types import bytes_per_element
from ironlaw.kit.here import cost, span
from ironlaw.labs.lab_07_fusion import explorer, jobs
from ironlaw.labs.lab_07_fusion.jobs import EAGER, SYNC, Job, premise
from ironlaw.measure.experiments.trials import COMPILED, LENGTHS, WIDE, words
from ironlaw.pictures.lines import lines
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.claims import row
from ironlaw.registry.machines import hardware
from ironlaw.registry.textbooks import textbook
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure

SPOTTER, MICRO = "graph:dscnn_kws", "h200_sxm/micro"
ROWS = {"here": "eager, an op's cost as here", "recorded": "eager, as on the H200's host"}
RAN = {"here": "measured here", "recorded": "measured on an H200"}
CHAINS = {4: "sigmoid_relu_muladd", 24: "chain24"}  # ops -> what the evidence calls such a chain
RECORDED = (8192, 4096)  # its shape there: in FP16 as many bytes as WIDE in FP32
RELU = ("relu",)  # any pointwise op: it reads one tensor and writes one
Points = list[tuple[float, float]]


def recorded_launch() -> float:
    return float(row(MICRO, kind="launch", op="add")["wall_s"])


def told(lab: kit.Lab, act: str) -> dict[str, Callable[[kit.Measured], str]]:
    if act == "act1":
        return {
            "tiny_ops": lambda found: lab.fill("act1.here_ops", **ops_slots(lab, found)),
            "ds_cnn": lambda found: lab.fill("act1.here_spotter", **spotter_slots(lab, found)),
        }
    return {
        "three_op_chain": lambda found: lab.fill("act2.here_three", **three_slots(found)),
        "pointwise_chain": lambda found: lab.fill("act2.here_chain", **chain_slots(found)),
    }


# --- Act I


def launches(lab: kit.Lab) -> dict[str, float]:
    """What an op costs: here, and on the recorded machine's host; empty where nothing was measured here."""
    found = lab.here("tiny_ops")
    return {"here": float(cost(found)["wall_s"]), "recorded": recorded_launch()} if found else {}


def textbook_jobs(lab: kit.Lab, job: Job) -> dict[str, Job]:
    """A textbook pass as it would be with those launches; the kernels keep their microseconds."""
    if jobs.is_graph(job.model):
        return {}
    machine = lab.chosen.hardware
    return {
        ROWS[name]: replace(job, context=replace(lab.chosen, hardware=replace(machine, launch=launch, calibration=None)))
        for name, launch in launches(lab).items()
    }


def walls(lab: kit.Lab, job: Job) -> dict[str, list[Part]]:
    """The spotter's measured wall time, here and on the H200: nothing was counted that would take it apart."""
    found = lab.here("ds_cnn") if job.model == SPOTTER else None
    mine = found.row(batch=1, mode=EAGER) if found else None
    if found is None or mine is None:
        return {}
    theirs = jobs.measured(SPOTTER, EAGER)
    return {
        RAN["here"]: [Part(RAN["here"], float(mine["wall_s"]), "here", source=f"{found.source}; {span(mine)}")],
        RAN["recorded"]: [Part(RAN["recorded"], float(theirs["wall_s"]), "cloud", source=jobs.source())],
    }


def ops_slots(lab: kit.Lab, found: kit.Measured) -> dict[str, object]:
    each, spotter, cloud = cost(found), textbook("kws"), hardware(jobs.CLOUD)
    shares = {
        name: premise(replace(cloud, launch=launch), spotter, dispatch=SYNC)
        for name, launch in (("here", float(each["wall_s"])), ("recorded", recorded_launch()))
    }
    on_cpu = found.machine.get("backend") == "cpu"
    queue = lab.fill("act1.here_no_queue") if on_cpu else lab.fill("act1.here_queue", waited=kit.amount(each["sync_s"], "s"))
    return {
        "each": kit.amount(each["wall_s"], "s"), "span": span(each), "queue": queue, "kernels": f"{spotter.kernels:,}",
        "kernel": kit.amount(spotter.kernel_s, "s"), "share": kit.amount(shares["here"], "%"),
        "asked": kit.amount(premise(cloud, spotter), "%"), "recorded": kit.amount(recorded_launch(), "s"),
        "recorded_share": kit.amount(shares["recorded"], "%"),
    }  # fmt: skip


def spotter_slots(lab: kit.Lab, found: kit.Measured) -> dict[str, object]:
    mine, theirs = found.row(batch=1, mode=EAGER), jobs.measured(SPOTTER, EAGER)
    assert mine is not None
    quicker = mine["wall_s"] < theirs["wall_s"]
    return {
        "wall": kit.amount(mine["wall_s"], "s"), "span": span(mine), "recorded": kit.amount(theirs["wall_s"], "s"),
        "busy": kit.amount(theirs["busy_s"], "s"), "kernels": f"{int(theirs['kernels'])}", "source": jobs.source(),
        "verdict": lab.words["act1.here_quicker" if quicker else "act1.here_slower"],
    }  # fmt: skip


# --- Act II


def gains(found: kit.Measured, key: Callable[[dict[str, Any]], float]) -> dict[str, Points]:
    """Way of fusing -> (place on the axis, op by op over in one pass), from a measurement's rows."""
    eager = {key(dict(row["params"])): float(row["wall_s"]) for row in found.all(mode=EAGER)}
    made: dict[str, Points] = {}
    for way in found.ways():
        rows = [(key(dict(row["params"])), float(row["wall_s"])) for row in found.all(mode=way)]
        made[f"{words(way)}, {found.source}"] = [(place, eager[place] / wall) for place, wall in rows if place in eager]
    return made


def tensor(params: dict[str, Any]) -> float:
    """Bytes of the tensor."""
    a, b = params["shape"]
    return float(a * b * bytes_per_element(params["dtype"]))


def by_size(lab: kit.Lab) -> dict[str, Points]:
    found = lab.here("three_op_chain")
    return gains(found, tensor) if found else {}


def lengths(lab: kit.Lab) -> list[Figure]:
    """What one pass gains, by the number of ops: the model on the chosen device, the recorded chains, and here."""
    found = lab.here("pointwise_chain")
    if found is None:
        return []
    here = gains(found, lambda params: float(params["ops"]))
    series = {f"time, {lab.chosen.label} by the model": model(lab), "traffic": [(float(n), cut(RELU * n)) for n in LENGTHS]}
    return [
        lines(
            series, Axis("log", "ops in the chain", ticks=tuple(map(float, LENGTHS))), Axis("log", "op by op over in one pass", "×"),
            "What one pass saves, by length", measured={"H200, GPU time": list(recorded_chains())}, here=here,
            note=f"{WIDE[0]:,} × {WIDE[1]:,} numbers", id="lengths",
        )
    ]  # fmt: skip


def cut(kinds: tuple[str, ...]) -> float:
    """How often less traffic one pass makes, by the byte count."""
    graph = chain(kinds, WIDE)
    return float(graph.bytes / fuse(graph).graph.bytes)


def model(lab: kit.Lab) -> Points:
    return [(float(n), explorer.case(lab.chosen, RELU * n, WIDE, None, False).speedup) for n in LENGTHS]


@lru_cache(maxsize=1)
def recorded_chains() -> tuple[tuple[float, float], ...]:
    def busy(name: str, mode: str) -> float:
        return float(row(MICRO, name=name, shape=list(RECORDED), mode=mode)["busy_s"])

    return tuple((float(n), busy(name, EAGER) / busy(name, "compiled")) for n, name in CHAINS.items())


def gain(found: kit.Measured, **wanted: Any) -> tuple[str, float, float]:
    """(how it was fused, seconds op by op, seconds in one pass); compiled where it was."""
    way = next(way for way in reversed(found.ways()) if found.row(mode=way, **wanted))
    eager, fused = found.row(mode=EAGER, **wanted), found.row(mode=way, **wanted)
    assert eager is not None and fused is not None
    return words(way), float(eager["wall_s"]), float(fused["wall_s"])


def three_slots(found: kit.Measured) -> dict[str, object]:
    way, eager, fused = gain(found, shape=list(COMPILED))
    walls_ = [float(row(MICRO, name="layernorm_dropout_relu", shape=list(COMPILED), mode=m)["wall_s"]) for m in (EAGER, "compiled")]
    return {
        "shape": f"{COMPILED[0]:,} × {COMPILED[1]:,}", "way": way, "eager": kit.amount(eager, "s"), "fused": kit.amount(fused, "s"),
        "gain": kit.times(eager / fused), "most": kit.times(cut(explorer.THREE)), "recorded": kit.dress(significant(walls_[0] / walls_[1])),
    }  # fmt: skip


def chain_slots(found: kit.Measured) -> dict[str, object]:
    most = LENGTHS[-1]
    way, eager, fused = gain(found, ops=most)
    return {
        "ops": str(most), "way": way, "eager": kit.amount(eager, "s"), "fused": kit.amount(fused, "s"), "gain": kit.times(eager / fused),
        "most": kit.times(cut(RELU * most)), "recorded": kit.times(dict(recorded_chains())[most]),
    }  # fmt: skip


def claims(lab: kit.Lab, act: str, *_: Any) -> dict[str, kit.Here]:
    """Further arguments are states: naming them is what runs the cell again."""
    if act == "act1":
        ops = lab.here("tiny_ops")
        return {"launch_5_to_20_us": kit.Here(float(cost(ops)["wall_s"]), "s", f"one add; {ops.source}")} if ops else {}
    three = lab.here("three_op_chain")
    if three is None:
        return {}
    way, eager, fused = gain(three, shape=list(COMPILED))
    return {"three_op_fusion_5x": kit.Here(eager / fused, "×", f"{way}, {COMPILED[0]:,} × {COMPILED[1]:,}; {three.source}")}
