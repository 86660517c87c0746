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
# What a model's run costs beyond launches that are queued back to back, in multiples of them, so that they hold for any host. All three are
# fitted to wall times of runs in which the device mostly waits (scripts/fit_host.py): H200, registry/evidence/h200_sxm/zoo_eager.json and
# zoo_training.json, and opened models of benchmarks/sealed_sets.
PYTHON = 1.5  # a captured model's own Python, its modules and views, eager: 68 runs, between 0.7 and 2.6 for nine in ten
AUTOGRAD = 1.3  # forward and backward of a training step, 19 runs; PyTorch 2.13 on a CPU takes 1.24 to 1.31 times as long to record a pass
# Inside a compiled function, on the same hosts: H200, whole small models by turns, and the open models of benchmarks/sealed_sets/own-1.
GENERATED = 1.2  # a kernel that the compiler wrote, in default launches
CALLED = 1.2  # a library's, called by the compiled code: what the same call costs eagerly
ENTRY = 6.0  # to enter, in default launches, where that was not measured: guards, arguments, the wrapper
PER_TENSOR = 0.15  # default launches for each tensor of a call on lists, an optimiser's: 1.9 for each parameter of AdamW's thirteen


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
        if mode != "eager" and category(op.kind) not in ("contraction", "attention"):
            return self.default * kernels
        if op.kind == "foreach":
            return self.default * (kernels + PER_TENSOR * len(op.inputs))
        if parts := op.attrs.get("parts"):  # a kernel that somebody wrote, called in place of its operators
            return reduce(maximum, (self.launch(part, mode, 1.0) for part in parts))
        calls = op.attrs.get("wanted", 1)  # a convolution's backward calls one for each gradient
        kind = op.kind if op.kind in self.launches else traits(op.kind).like
        return calls * self.launches.get(kind, self.launches.get(category(op.kind), self.default))

    def scaled(self, factor: float) -> Host:
        """The same host, so many times as slow."""
        check_positive("a host's factor", factor)
        launches = {kind: factor * seconds for kind, seconds in self.launches.items()}
        return replace(self, launches=launches, entry=factor * self.entry, graph_start=factor * self.graph_start)


def python_factor(settings: Mapping[str, Any], kind: str) -> float:
    """How much longer a captured model's eager launches take than the same ones queued back to back: around them runs the model's Python,
    and autograd records them. The lists of an optimiser are beyond autograd."""
    return PYTHON * (AUTOGRAD if settings.get("training") and kind != "foreach" else 1.0)


def compiled_factor(settings: Mapping[str, Any], op: Op) -> float:
    """The same in a compiled model: what is left to Python costs what it costs there, all else is called by the compiled code."""
    from ironlaw.engine.device.work import EAGER, UNCOMPILED, category

    if op.attrs.get(UNCOMPILED) == EAGER:
        return python_factor(settings, op.kind)
    return CALLED if UNCOMPILED in op.attrs or category(op.kind) in ("contraction", "attention") else GENERATED


def entered(host: Host, settings: Mapping[str, Any], queued: bool) -> float:
    """Seconds to enter a model's compiled functions: one, or the parts that Python left over."""
    each = host.entry or (ENTRY * host.default if queued and settings.get("captured") else 0.0)
    return float(settings.get("entries", 1)) * each
