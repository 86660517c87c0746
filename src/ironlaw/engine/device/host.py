"""The processor that launches: what each op, a compiled function and a graph's replay cost it.

A GPU's own times do not depend on it, so it is kept apart from what was measured of the GPU: the same device behind a slower processor
is busy as long, and waits more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from ironlaw.engine.arrays import Number, maximum
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

if TYPE_CHECKING:
    from ironlaw.engine.device.types import Op

DEFAULT = "default"  # the launch of an op whose own was not measured
# What a model's run costs beyond launches that are queued back to back, in multiples of them, so that they hold for any host. Fitted to
# wall times of runs in which the device mostly waits, each on a host that was measured in the same minutes: H200, the open models of
# benchmarks/sealed_sets (60 of own code, 33 of libraries); scripts/fit_host.py prints what the rows say. A virtual machine's walls drift by
# half within a minute, so a factor is no surer than that.
IN_MODEL = 1.8  # a launch among others, with the model's Python around it: 2.0 by own code and 2.2 by libraries, many models in a process;
# 1.65 by 13 models in processes of their own; 1.5 to 1.8 by the gains of registry/evidence/h200_sxm/changes.json
COMPILED = 1.6  # the same in compiled code: 2.0 by both sets, 1.4 by the 13
AUTOGRAD = 1.1  # forward and backward of a training step, which autograd records, 41 runs
AFTER = 1.1  # after the last backward pass, where neither modules nor autograd run: an optimiser that goes from tensor to tensor; 1.05 by
# Adam, 1.07 by AdamW and 1.19 by SGD with momentum over 120 weights (benchmarks/step_costs.json)
ENTRY = 20.0  # to enter a compiled function, where that was not measured: guards, arguments, wrapper; 6 for a small one again and again
RECURRENT, PER_KERNEL = 30.0, 0.5  # a recurrent layer: weights gathered and described, then each kernel that cuDNN launches itself
SORTED, FEW = "embedding_backward", 6.0  # whose rows are sorted first, by some thirty kernels: those beyond a few cost each by itself
SOLVER = 2.0  # a decomposition or solve, beside each kernel that its library launches: times IN_MODEL, about the median wall time of 365
# calls that the host holds up (evidence h200_sxm/decompositions); the first of a library take longer
PER_TENSOR = 0.15  # default launches for each tensor of a call on lists, an optimiser's: 1.9 for each parameter of AdamW's thirteen

# What checkpoints add, in default launches: for each segment that runs again, and for each op in it, beside the op itself. Without
# reentry a hook sees every tensor that is saved, twice, so an op costs as often as it saves one. 24 blocks of 1, 4 and 8 tiny operators,
# each of which saves one (benchmarks/step_costs.json).
OP, SEGMENT = "op", "segment"
HOOKED, REENTRANT = {SEGMENT: 34.0, OP: 3.5}, {SEGMENT: 23.0, OP: 1.0}
# tensors that PyTorch saves of ops that save more than what their gradients are made from: weights, statistics, a generator's state
# (tools/autograd/derivatives.yaml)
SAVED = {"batch_norm": 7, "layer_norm": 5, "group_norm": 4, "rms_norm": 3, "attention": 8}


@dataclass(frozen=True)
class Host:
    """Seconds throughout. Whatever Python and the framework spend on a call is in its launch."""

    launches: Mapping[str, float] = field(hash=False)  # per call, by op kind or category; "default" for the others
    entry: float = 0.0  # to enter a compiled function, whatever is in it
    graph_start: float = 0.0  # to start a graph's replay
    slug: str = ""
    name: str = ""
    source: str = ""
    date: str = ""
    method: str = ""
    estimate: bool = False
    why: str = ""
    in_model: bool = False  # whether its launches were read off whole models, so that nothing comes on top inside one
    caveats: tuple[str, ...] = ()  # what every prediction with this host must say: measured on a busy machine, say

    def __post_init__(self) -> None:
        if DEFAULT not in self.launches:
            raise BadValue(f"host {self.name or self.slug!r} has no {DEFAULT} launch; add what launching an element-wise op costs")
        for what, seconds in (*self.launches.items(), ("entry", self.entry), ("graph start", self.graph_start)):
            check_positive(f"{what} of host {self.name or self.slug!r}", seconds, zero=True)

    @property
    def default(self) -> float:
        """Seconds of a launch whose kind was not measured, and of a kernel that a compiler wrote."""
        return self.launches[DEFAULT]

    @property
    def label(self) -> str:
        """For people: its name, and that it is an estimate where it is."""
        return f"{self.name or self.slug}{', estimated' if self.estimate else ''}"

    def launch(self, op: Op, mode: str, kernels: Number) -> Number:
        """Seconds that an op's launches cost: one call each in eager mode; a compiler's kernels one by one."""
        from ironlaw.engine.device.work import category, lowering, traits  # here: a machine is read without knowing any op

        mode = lowering(op, mode)
        if op.kind == "solver":
            return self.default * (SOLVER + PER_KERNEL * kernels)
        if mode != "eager" and category(op.kind) not in ("contraction", "attention"):
            return self.default * kernels
        if op.kind == "recurrent":
            return self.default * (RECURRENT + PER_KERNEL * kernels)
        if op.kind == "foreach":
            return self.default * (kernels + PER_TENSOR * len(op.inputs))
        if parts := op.attrs.get("parts"):  # a kernel that somebody wrote, called in place of its operators
            return reduce(maximum, (self.launch(part, mode, 1.0) for part in parts))
        calls = op.attrs.get("wanted", 1)  # a convolution's backward calls one for each gradient
        kind = op.kind if op.kind in self.launches else traits(op.kind).like
        own = calls * self.launches.get(kind, self.launches.get(category(op.kind), self.default))
        return own + self.default * PER_KERNEL * maximum(kernels - FEW, 0.0) if op.kind == SORTED else own

    def scaled(self, factor: float) -> Host:
        """The same host, so many times as slow."""
        check_positive("a host's factor", factor)
        launches = {kind: factor * seconds for kind, seconds in self.launches.items()}
        return replace(self, launches=launches, entry=factor * self.entry, graph_start=factor * self.graph_start)


def model_factor(settings: Mapping[str, Any], op: Op, mode: str, after: bool = False) -> float:
    """How much longer a captured model's launches take than the same ones queued back to back: other code runs around them, and autograd
    records eager ones. The lists of an optimiser are beyond autograd. `after`: what comes after the last backward pass."""
    from ironlaw.engine.device.work import EAGER, UNCOMPILED

    if mode != "eager" and op.attrs.get(UNCOMPILED) != EAGER:
        return COMPILED
    if after and op.kind != "foreach":
        return AFTER
    return IN_MODEL * (AUTOGRAD if settings.get("training") and op.kind != "foreach" else 1.0)


def run_again(settings: Mapping[str, Any], op: Op) -> float:
    """Default launches that a checkpoint adds to an op of a captured step."""
    place = settings.get("again", {}).get(op.name)
    if place is None:
        return 0.0
    hooked = settings.get("hooked")
    costs = HOOKED if hooked else REENTRANT
    return costs[OP] * (saved(op) if hooked else 1) + (costs[SEGMENT] if place == SEGMENT else 0.0)


def saved(op: Op) -> int:
    """The number of tensors that autograd saves of an op."""
    from ironlaw.engine.device.work import traits

    keeps = traits(op.kind).keeps
    return SAVED.get(op.kind, len(op.inputs) if keeps is None else len({what for what, _ in keeps}))


def entered(host: Host, settings: Mapping[str, Any], mode: str) -> float:
    """Seconds to enter a model's compiled functions: one, or the parts between what is left to Python. Of a captured model no less than
    ENTRY, for `entry` is mostly that of a small function."""
    each = max(host.entry, ENTRY * host.default) if mode == "queued" and settings.get("captured") else host.entry
    return float(settings.get("entries", 1)) * each
