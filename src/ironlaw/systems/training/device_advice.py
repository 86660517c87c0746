"""A training step over several devices of the box that this machine comes in: what they send each other adds, and what it costs.

DDP where a device holds the step; else FSDP, whose devices hold a part of weights, gradients and optimiser each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironlaw.engine.advice.action import Action
from ironlaw.engine.advice.action_names import DEVICES, SHARDED
from ironlaw.engine.advice.gain import Gain
from ironlaw.engine.advice.program import Program
from ironlaw.engine.cluster.buckets import Queue
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.work import COLLECTIVE
from ironlaw.registry.boxes import box_with
from ironlaw.units import show, significant

COUNTS = (2, 4, 8)
BUSY = 0.5  # of a step: devices that wait for their host for longer gain less from others beside them than from a larger batch
BUCKET = 25.0 * 2**20  # bytes, as DDP has it
BACK = 0.6  # of a step, the backward pass: twice the forward pass, and the optimiser beside them


def several_devices(per_hour: Mapping[str, float], prediction: Prediction) -> tuple[Action, ...]:
    """The step on as many devices as the box has, up to 8, each with a batch like this one; none where no box is known."""
    alone = not any(COLLECTIVE in op.attrs for op in prediction.graph.ops)  # else it runs on several already
    box = box_with(prediction.hardware.slug) if prediction.graph.settings.get("training") and alone else None
    counts = [count for count in COUNTS if box is not None and count <= box.devices]
    if box is None or not counts or prediction.interval is None:
        return ()
    if not prediction.fits:
        return _sharded(per_hour, prediction, box, counts)
    if float(prediction.busy_s) < BUSY * float(prediction.seconds) or not _gradients(prediction):
        return ()
    gains = {count: _gain(prediction, box, count) for count in counts}
    most = counts[-1]
    listed = ", ".join(f"{significant(gains[count].ratio)}× with {count}" for count in counts[:-1])
    added = most * gains[most].after - gains[most].before
    price = per_hour.get(prediction.hardware.slug)
    said = f"all-reducing the gradients ({show(_gradients(prediction), 'B')}) over {box.name} adds {show(added, 's')} to a step"
    remark = said + (f"; {listed}" if listed else "") + f"; {most} times the batch for each step of the optimiser"
    program = Program(prediction.plan, prediction.hardware)
    prices = (price, most * price) if price is not None else (None, None)
    return (Action((DEVICES,), gains[most], program, prediction, prediction, prices=prices, devices=most, remark=remark),)


def _weights(prediction: Prediction) -> float:
    return sum(float(t.bytes) for t in prediction.graph.tensors.values() if t.role == "weight")


def _gradients(prediction: Prediction) -> float:
    """Bytes; gradients of frozen weights are never computed."""
    frozen = frozenset(prediction.graph.settings.get("frozen", ()))
    return sum(float(t.bytes) for name, t in prediction.graph.tensors.items() if t.role == "weight" and name not in frozen)


def _gain(prediction: Prediction, box: Box, count: int) -> Gain:
    """The ends of the range: all of the sum hides behind the backward pass, or none of it."""
    step = float(prediction.seconds)
    queue = Queue(_gradients(prediction), BUCKET, BACK * step, lambda size: float(collective(box, "all_reduce", count, size)))
    after = (step + queue.exposed) / count
    return Gain(step, after, (count * step / (step + queue.seconds), float(count)))


def _sharded(per_hour: Mapping[str, float], prediction: Prediction, box: Box, counts: Sequence[int]) -> tuple[Action, ...]:
    """FSDP on the fewest devices that hold the step: weights are gathered for the forward pass and again for the backward pass, and
    gradients are summed up to the part that holds them. The range runs from all of that hidden to none of it."""
    whole, usable = float(prediction.memory.total), float(prediction.memory.usable)
    parted = float(prediction.memory.weights) + _gradients(prediction)
    weights, step = _weights(prediction), float(prediction.seconds)
    largest = max((float(t.bytes) for t in prediction.graph.tensors.values() if t.role == "weight"), default=0.0)
    for count in counts:
        needs = whole - parted * (1.0 - 1.0 / count) + 2.0 * largest  # two gathered weights lie there at a time
        if needs > usable:
            continue
        sent = [float(collective(box, "all_gather", count, weights))] * 2
        sent.append(float(collective(box, "reduce_scatter", count, _gradients(prediction))))
        shown = max(0.0, sum(sent) - step) + sent[0] * min(1.0, largest / weights)  # the first gather, before which nothing can run
        gain = Gain(step, (step + shown) / count, (count * step / (step + sum(sent)), float(count)))
        price = per_hour.get(prediction.hardware.slug)
        prices = (price, count * price) if price is not None else (None, None)
        remark = (
            f"{show(needs, 'B')} on each device instead of {show(whole, 'B')}, so it fits; sending weights and gradients over {box.name}"
            f" takes {show(sum(sent), 's')} of each step, of which {show(shown, 's')} shows; {count} times the batch for each step of the"
            " optimiser"
        )
        program = Program(prediction.plan, prediction.hardware)
        return (Action((SHARDED,), gain, program, prediction, prediction, prices=prices, devices=count, remark=remark),)
    return ()
