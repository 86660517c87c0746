"""Act II's words: the truth, the distance, and the slots of every section."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.claims import chain
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph, Tensor, bytes_per_element
from ironlaw.engine.device.work import op
from ironlaw.formats import operation
from ironlaw.labs.lab_11_roofline.act2 import budget, kernels, layer, served
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about, kv_cache
from ironlaw.units import significant


def _model() -> str:
    return str(about(kernels.MODEL)["name"])


def message() -> dict[str, object]:
    return {"model": _model()}


def lock() -> dict[str, object]:
    few, many = kernels.rows()
    return {"model": _model(), "width": significant(layer.settings_of(kernels.MODEL)["hidden"], 4), "few": few, "many": f"{many:,}"}


def truth(lab: kit.Lab) -> str:
    return kit.inline(lab.question("act2").right.label)


def distance(lab: kit.Lab) -> str:
    """How many of the four points were put on the right side of the ridge."""
    option = lab.choice("act2")
    if option is None:
        return ""
    claimed = kernels.CLAIMED[option.id]
    right = [name for name in kernels.NAMES if (name in claimed) == (kernels.bound(name) == "memory")]
    wrong = [kernels.NAMES[name] for name in kernels.NAMES if name not in right]
    if not wrong:
        return f"right about all {len(right)} points"
    return f"wrong about {len(wrong)} of {len(kernels.NAMES)} points: {', '.join(wrong)}"


def _ridge(work: str = "matrix") -> str:
    return per_byte(hardware(kernels.DEVICE).ridge(kernels.FMT, work=work), kernels.FMT)


def reveal() -> dict[str, object]:
    few, many = kernels.rows()
    return {
        "ridge": _ridge(), "vector_ridge": _ridge("vector"), "few": few, "many": f"{many:,}",
        "gemm_few": kernels.place("few"), "gemm_many": kernels.place("many"),
        "norm": kernels.place("norm"), "softmax": kernels.place("softmax"), "crossing": f"{kernels.crossing():,}",
        "norm_three": per_byte(kernels.intensity("norm", 3), kernels.FMT),
        "softmax_three": per_byte(kernels.intensity("softmax", 3), kernels.FMT),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    separate = chain("scale", "shift", "relu")
    fused = fuse(separate).graph
    return {
        "flops": kit.amount(float(separate.work.flops), operation(separate.dtype)), "apart": kit.amount(float(separate.bytes), "B"),
        "fused": kit.amount(float(fused.bytes), "B"),
    }  # fmt: skip


def _elementwise() -> Graph:
    shape = (1024, 768)
    return Graph("relu", (op("relu", "relu", (Tensor("x", shape, kernels.FMT, "input"),), (Tensor("y", shape, kernels.FMT),)),))


def peek() -> dict[str, object]:
    params, machine = layer.settings_of(kernels.MODEL), hardware(kernels.DEVICE)
    weights, read = served.weight_bytes(kernels.MODEL, kernels.FMT, kernels.FMT), served.weights_read(kernels.MODEL, kernels.FMT)
    return {
        "elementwise": per_byte(_elementwise().work.intensity, kernels.FMT), "model": _model(), "layers": params["layers"],
        "kv_heads": params["kv_heads"], "heads": params["heads"], "head_dim": params["head_dim"],
        "bytes_each": significant(bytes_per_element(kernels.FMT)), "per_token": kit.dress(kit.capacity(float(kv_cache(kernels.MODEL)))),
        "weights": kit.amount(weights, "B", 4), "bandwidth": kit.amount(float(machine.bandwidth), "B/s"),
        "read": kit.amount(read, "B", 4), "floor": kit.amount(read / float(machine.bandwidth), "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    spent, prefill = budget.premise(), budget.premise("prefill")
    return {
        "ridge": _ridge(), "vector_ridge": _ridge("vector"), "softmax": per_byte(kernels.intensity("softmax"), kernels.FMT),
        "batch_gain": kit.dress(significant(spent.gain("batch"))),
        "prefill_batch": kit.dress(significant(prefill.gain("batch"))),
    }  # fmt: skip
