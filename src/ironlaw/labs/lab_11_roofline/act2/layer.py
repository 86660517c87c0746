"""Act II's settings -> a transformer as it is served: time per op, tokens per second, memory, what fits. Engine calls, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ironlaw.engine.device import memory
from ironlaw.engine.device.deployment import Stack, largest_near, stack
from ironlaw.engine.device.dispatch import graph_replay
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import OpRow, predict
from ironlaw.engine.device.types import Graph, Work, bytes_per_element
from ironlaw.labs.lab_11_roofline.act2.served import activations, fused, serving_graph, weight_bytes
from ironlaw.registry.workloads import about, kv_cache
from ironlaw.systems.fields import among, figure, whole

MODELS = ("llama3_8b", "llama3_2_1b", "qwen2_0_5b", "llama3_70b")
WEIGHTS = ("fp16", "fp8", "int8", "int4")
CACHES = ("fp16", "fp8", "int8")
FUSION = {"separate": "none", "adjacent": "adjacent element-wise ops", "all": "all element-wise ops, norms and biases"}
TOO_LONG = 1 << 20  # tokens or sequences that nobody asks for
DEEP = 3  # layers that stand for all: the middle one is like every other
ALIKE = 0.995  # of the longest op: as long, to three digits


def layers_of(model: str) -> int:
    return int(about(model)["params"]["layers"])


def arithmetic(machine: Hardware) -> str:
    """The two-byte format that a machine multiplies in; FP32 where it has none."""
    return next((fmt for fmt in ("fp16", "bf16") if fmt in machine.peaks), "fp32")


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    hardware: Hardware
    model: str = among(MODELS, "llama3_8b", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    phase: str = among(("prefill", "decode"), "prefill", "Phase")
    batch: int = whole(8, "Batch", most=256, dial="span", log=True)
    context: int = figure(512, "Context", "tokens", low=256, high=32768, dial="span", log=True, whole=True, column="int64")
    weights: str = among(WEIGHTS, "fp16", "Weight format", shown=str.upper)
    cache: str = among(CACHES, "fp16", "KV cache format", shown=str.upper)
    fusion: str = among(FUSION, "separate", "Fusion")
    tiled: bool = among({False: "scores through memory", True: "tiled"}, False, "Attention")
    measured: bool = among((False, True), False, "Kernel times")  # measured curves instead of the datasheet: the machine's, or else others'

    @property
    def _plan(self) -> Plan:
        return Plan() if self.measured else Plan(calibrated=False)

    @property
    def basis(self) -> str:
        """The kind of its times: calibrated, transferred or a bound."""
        return self.hardware.basis(self._plan)

    @property
    def fmt(self) -> str:
        return arithmetic(self.hardware)

    def _formats(self) -> tuple[str, str]:
        """16 bits means the machine's own 16-bit format; one that multiplies in FP32 alone still stores two bytes."""
        wide = self.fmt if bytes_per_element(self.fmt) == 2 else "fp16"
        return tuple(wide if fmt == "fp16" else fmt for fmt in (self.weights, self.cache))  # type: ignore[return-value]

    @property
    def kept_bytes(self) -> float:
        """The bytes of one number in the KV cache."""
        return bytes_per_element(self._formats()[1])

    @cached_property
    def graph(self) -> Graph:
        graph = serving_graph(self.model, DEEP, self.phase, self.batch, self.context, self.fmt, *self._formats(), self.tiled)
        return fused(graph, DEEP, self.fmt, self._formats()[1], self.tiled, self.fusion)

    @cached_property
    def stack(self) -> Stack:
        return stack(self.graph, layers_of(self.model))

    @cached_property
    def rows(self) -> tuple[OpRow, ...]:
        """One layer's ops."""
        inside = {id(op) for op in self.stack.layer}
        return tuple(row for row in self._all if id(row.op) in inside)

    @cached_property
    def _all(self) -> tuple[OpRow, ...]:
        return predict(self.graph, self.hardware, self._plan).ops

    @property
    def longest(self) -> list[OpRow]:
        """The ops that take longest: several where they take as long, to three digits."""
        most = max(float(row.seconds) for row in self.rows)
        return [row for row in self.rows if float(row.seconds) > ALIKE * most]

    @property
    def layer_seconds(self) -> float:
        return float(sum(row.seconds for row in self.rows))

    @cached_property
    def seconds(self) -> float:
        """One pass: all ops of all layers and the head, behind one launch."""
        return self._wall(self._all)

    @cached_property
    def seconds_at_the_roof(self) -> float:
        """The same pass if every matrix product reached its roof."""
        bounds = predict(self.graph, self.hardware, Plan(calibrated=False)).ops
        return self._wall([bound if bound.work.matmul_flops > 0 else row for row, bound in zip(self._all, bounds, strict=True)])

    @property
    def product_seconds(self) -> float:
        """What the matrix products take of a pass."""
        return float(self.stack.sum((row.op, row.seconds) for row in self._all if row.work.matmul_flops > 0))

    def _wall(self, rows: Sequence[OpRow]) -> float:
        busy = self.stack.sum((row.op, row.seconds) for row in rows)
        kernels = self.stack.sum((row.op, row.kernels) for row in rows)
        curves = self.hardware.calibration if self.measured else None
        launch, gap = (curves.host.graph_start, curves.graph_gap) if curves else (self.hardware.launch, 0.0)
        return float(graph_replay(launch, [busy], [kernels], gap).wall)

    @property
    def tokens(self) -> int:
        """Tokens that one pass makes (decode) or takes in (prefill)."""
        return self.batch if self.phase == "decode" else self.batch * self.context

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    @property
    def per_user(self) -> float:
        return self.rate / self.batch

    @property
    def work(self) -> Work:
        """One layer's."""
        return Graph("layer", self.stack.layer, self.fmt).work

    # --- memory

    @cached_property
    def footprint(self) -> memory.Memory:
        weights, cache = self._formats()
        cache_bytes = float(kv_cache(self.model, self.batch, self.context, cache))
        has = float(self.hardware.capacity), float(self.hardware.reserved)
        return memory.Memory(weight_bytes(self.model, self.fmt, weights), cache_bytes, self.activations, *has)

    @property
    def activations(self) -> float:
        setting = (self.model, self.phase, self.fmt, self._formats()[1], self.tiled, self.fusion)
        return activations(setting, self.batch, self.context)

    def _largest(self, change: Callable[[int], Case], now: int) -> int:
        weights = self.footprint.weights
        return largest_near(lambda n: float(change(n).footprint.total - weights), float(self.hardware.usable - weights), now, TOO_LONG)

    @cached_property
    def largest_batch(self) -> int:
        return self._largest(lambda n: replace(self, batch=n), self.batch)

    @cached_property
    def largest_context(self) -> int:
        return self._largest(lambda n: replace(self, context=n), self.context)


def part(row: OpRow) -> str:
    """Which of the message's three kernels an op belongs to; empty for the rest."""
    name = short(row.name)
    if row.op.work.matmul_flops > 0 and "q_proj" in name:
        return "projection"
    if name.startswith(("input_norm", "post_norm")):
        return "norm"
    if row.kind in ("softmax", "attention"):
        return row.kind
    return ""


def short(name: str) -> str:
    """`layers.1.attn.q_proj…layers.1.attn.rotary_q.mul_cos` -> `q_proj … rotary_q.mul_cos`."""
    words = []
    for piece in name.split("…"):
        rest = piece.split(".", 2)[2] if piece.startswith("layers.") else piece
        words.append(rest.removeprefix("attn.").removeprefix("mlp."))
    return " … ".join(dict.fromkeys(words))


def parts(case: Case) -> dict[str, Work]:
    """The three kernels' work in this layer, summed where a kind is several ops."""
    works: dict[str, Work] = {}
    for row in case.rows:
        key = part(row)
        if key:
            works[key] = works.get(key, Work()) + row.work
    return works


def models_that_fit(machine: Hardware) -> list[str]:
    """Models of this lab that fit with one short sequence, and the widest weight format in which each does."""
    names = []
    for model in MODELS:
        for weights in WEIGHTS:
            if Case(machine, model, "decode", 1, 256, weights, tiled=True).footprint.fits:
                names.append(f"{about(model)['name']} in {weights.upper()}")
                break
    return names


def settings_of(model: str) -> dict[str, Any]:
    return dict(about(model)["params"])
