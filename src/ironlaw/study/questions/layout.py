"""A training step of a decoder spread over many devices: a point is one layout, as `ironlaw cluster --layout` judges it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.search import Job, judge
from ironlaw.engine.cluster.shapes import RECOMPUTE
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.decoder_shapes import decoder, decoders
from ironlaw.registry.machines import registered
from ironlaw.study.question import Question, Result, one_of, whole
from ironlaw.study.questions.names import number_format
from ironlaw.systems.training.shard_times import BUSY, compute


def answer(point: Mapping[str, Any]) -> dict[str, Any]:
    shape, at, seq, dtype = decoder(point["model"]), box(point["box"]), point["seq"], point["dtype"]
    chip = registered(at.device)
    if shape.positions and seq > shape.positions:
        raise BadValue(f"{shape.name} has learned {shape.positions:,} positions; give a seq of at most that", "seq")
    inner = point["tensor"] * point["pipeline"] * point["context"]
    if point["devices"] % inner:
        raise BadValue(
            f"{point['devices']} devices are not groups of tensor × pipeline × context = {inner}; give a multiple of that", "devices"
        )
    layout = Layout(
        point["tensor"], point["pipeline"], point["context"], point["devices"] // inner, point["expert"], point["virtual"], point["micro"],
        point["recompute"], zero=point["zero"],
    )  # fmt: skip
    job = Job(shape, at, point["batch"], seq, float(chip.usable), float(chip.peak(dtype)))
    found = judge(job, layout, lambda one: compute(shape, one, seq, at.device, dtype))
    return {
        "step_s": float(found.time.total), "mfu": found.speed.mfu, "tokens_per_s": found.speed.tokens_per_s, "data": layout.data,
        "memory_bytes": float(found.memory.total), "fits": bool(found.memory.total <= job.capacity),
        "bubble_s": float(found.time.bubble),
        "exchange_s": float(sum(found.time.parts[name] for name in ("tensor", "context", "expert", "pipeline", "data"))),
        "basis": chip.basis(BUSY),
    }  # fmt: skip


QUESTION = Question(
    "layout",
    "how long a training step takes in a layout of many devices",
    1,
    (
        one_of("model", "a decoder of the registry or of a published run", decoders, find=lambda name: decoder(name).name),
        one_of("box", "what the devices are in", boxes, find=lambda name: box(name).slug),
        whole("devices", "how many devices train it; replicas take what the layout leaves"),
        whole("batch", "sequences a step"),
        whole("seq", "tokens of a sequence", 8192),
        whole("tensor", "tensor parallelism", 1),
        whole("pipeline", "pipeline stages", 1),
        whole("context", "context parallelism", 1),
        whole("expert", "expert parallelism", 1),
        whole("virtual", "pieces of each stage", 1),
        whole("micro", "sequences of a micro-batch", 1),
        one_of("recompute", "what the backward pass computes again", lambda: RECOMPUTE, "none"),
        whole("zero", "ZeRO's stage", 1, least=0),
        number_format("number format of products", "bf16"),
    ),
    (
        Result("step_s", "time of a step", "s", "low"),
        Result("mfu", "share of the peak that the model's FLOPs reach", "%", "high"),
        Result("tokens_per_s", "tokens a second", "", "high"),
        Result("memory_bytes", "on the fullest device", "B", "low"),
        Result("fits", "whether a device holds it", column="bool"),
        Result("bubble_s", "filling and draining the pipeline", "s", "low"),
        Result("exchange_s", "communication that nothing hides", "s", "low"),
        Result("data", "replicas", column="int64"),
        Result("basis", "what the time rests on: bound, transferred or calibrated", column="string"),
    ),
    answer,
    "step_s",
    "fits",
)
