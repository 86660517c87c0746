"""Where the bytes of a training step go, what fits, and what each change would free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.adapters import RANK
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES, parameters
from ironlaw.engine.training.setup import ATTENTION, Setup, elsewhere, fewer_trained, graph_of, growth, ledger, levers
from ironlaw.engine.training.training_layers import layers
from ironlaw.engine.training.training_ledger import ROWS, Ledger
from ironlaw.errors import BadValue, IronlawError, kind_of
from ironlaw.registry.decoders import decoder, forward, is_place
from ironlaw.registry.workloads import workload
from ironlaw.systems.captures import CAPTURE_S, capture_all, read_setting
from ironlaw.systems.fields import among, custom, figure, several, switch, whole
from ironlaw.systems.question import Question, Table
from ironlaw.systems.registry_graphs import as_captured
from ironlaw.systems.registry_names import machines
from ironlaw.systems.value_readers import read_whole
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.training_output import MemoryJson, MemoryLever, MemoryMachine, MemoryVariant

Build = Callable[[int, str], Graph]


def read_target(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise BadValue(
        f"a model is named, and this is {kind_of(value)}; write 'gpt2', or 'my.py:net' for a module in a file. For one at hand"
        " il.analyze(module, (x,), on='h200', training=True) has `predictions[0].memory`"
    )


def read_checkpoints(value: Any) -> int | str:
    text = str(value).strip()
    if text.lower() == "all":
        return "all"
    if not text.isdigit():
        raise BadValue(f"{value!r} is not a number of segments; write one such as 4, or all for every layer")
    return int(text)


@dataclass(frozen=True, repr=False)
class Memory(Question):
    """The rows of a training step's memory, whether machines hold it, and what would free most.

    >>> import ironlaw as il
    >>> m = il.memory("gpt2", batch=8, seq=1024, on="rtx_4090")
    >>> m.fits["rtx_4090"], m.levers[0]["lever"]
    (True, 'qlora')
    """

    schema = "ironlaw-memory/1"
    target: str = custom(
        read_target, flag="TARGET", metavar="TARGET",
        about="a model (see `ironlaw workload`), a folder with a config.json, or FILE.py:NAME or hf:CONFIG as for `ironlaw analyze`",
    )  # fmt: skip
    on: tuple[Hardware, ...] = machines((), "machines that it should fit; see `ironlaw hardware`")
    recipe: str | None = among(
        tuple(RECIPES), None, metavar="NAME",
        about=f"number formats: {', '.join(RECIPES)} (default: fp32; for FILE.py:NAME, those that its weights have)",
    )  # fmt: skip
    optimiser: str | None = among(
        tuple(OPTIMISERS), None, metavar="NAME", about=f"one of {', '.join(OPTIMISERS)} (default: adamw; paged_adam8bit with `qlora`)"
    )
    batch: tuple[int, ...] = several(
        read_whole, (), what="number", metavar="N[,N]",
        about="samples per microbatch (default: the model's); several are shown side by side",
    )  # fmt: skip
    seq: int | None = whole(None, metavar="N", about="tokens per sequence")
    accumulate: int = whole(1, metavar="N", about="microbatches per update")
    checkpoint: int | str | None = custom(
        read_checkpoints, None, metavar="N|all",
        about="recompute activations in N segments of layers, or in all layers (default: 0; all with `qlora`)",
    )  # fmt: skip
    lora: int | None = whole(None, metavar="N", about="train adapters of this rank on every linear layer, and freeze the model")
    qlora: bool = switch(False, about=f"the usual QLoRA: weights in NF4, adapters of rank {RANK}, paged 8-bit AdamW, all layers recomputed")
    loss_chunks: int = whole(1, metavar="N", about="compute the loss in N chunks of tokens, one at a time")
    attention: str = among(ATTENTION, "fused", about="fused into one kernel (default), or three kernels that store the scores")
    zero: int = whole(0, least=0, metavar="STAGE", about="ZeRO stage, 0 to 3, over `devices`")
    devices: int = whole(1, metavar="N", about="number of devices that ZeRO shards over")
    offload: bool = switch(False, about="keep optimiser state and master copy in the host's memory")
    input: tuple[str, ...] = several(str, (), again=True, metavar="SHAPE[:FMT]", about="shape of an input of FILE.py:NAME")
    set: tuple[tuple[str, Any], ...] = several(
        read_setting, (), again=True, metavar="KEY=VALUE", about="set a config field or factory argument"
    )
    limit: float = figure(
        CAPTURE_S, unit="s", zero=True, metavar="TIME",
        about=f"time limit for running your file, such as '90 s'; 0 for none (default {show(CAPTURE_S, 's')})",
    )  # fmt: skip

    @cached_property
    def answer(self) -> MemoryJson:
        if self.devices > 1 and not self.zero:
            raise BadValue("at ZeRO stage 0 `devices` share nothing; add `zero=1`, 2 or 3")
        if (self.qlora or self.lora) and self.recipe is None:
            return replace(self, recipe="pure").answer
        build, batch, recipe = _source(self)
        graph = build(batch, RECIPES[recipe].dtype)
        segments = ("all" if self.qlora else 0) if self.checkpoint is None else self.checkpoint
        count = len(layers(graph)) if segments == "all" else int(segments)
        setup = Setup(
            recipe, self.optimiser or ("paged_adam8bit" if self.qlora else "adamw"), batch, self.accumulate, count, self.loss_chunks,
            self.attention, self.zero, self.devices, self.offload, self.lora or (RANK if self.qlora else 0), self.qlora,
        )  # fmt: skip
        variants = [_at(build, replace(setup, batch=n), self.on) for n in self.batch] if len(self.batch) > 1 else []
        return _answer(self, build, graph, setup, variants)

    @property
    def peak_bytes(self) -> float:
        """The most that is held at once."""
        return float(self.answer["peak_bytes"])

    @property
    def fits(self) -> dict[str, bool]:
        """Whether the step fits on each machine."""
        return {one["hardware"]: bool(one["fits"]) for one in self.answer["machines"]}

    @property
    def levers(self) -> list[MemoryLever]:
        """What each change frees, most first."""
        return list(self.answer["levers"])

    def table(self) -> Table:
        rows = [(one["row"], show(one["at_peak_bytes"], "B"), show(one["most_bytes"], "B")) for one in self.answer["rows"]]
        fits = ", ".join(f"{'fits' if fits else 'does not fit'} {slug}" for slug, fits in self.fits.items())
        title = f"{self.target}: {show(self.peak_bytes, 'B')} at the peak{f'; {fits}' if fits else ''}"
        return Table(title, ("row", "at the peak", "at most"), rows)


def _source(asked: Memory) -> tuple[Build, int, str]:
    """How to build the forward pass at any batch, the batch that is asked for, and the recipe."""
    target = as_captured(asked.target)
    if target != asked.target:
        return _captured(replace(asked, target=target))
    if ":" in asked.target or asked.target.endswith(".pt2"):
        return _captured(asked)
    if asked.input or asked.set:
        raise BadValue("`input` and `set` are for FILE.py:NAME; a model of the registry takes `batch` and `seq`")
    settings = {"seq": asked.seq} if asked.seq else {}
    make = partial(workload, target) if not is_place(target) else partial(forward, decoder(target))
    batch = asked.batch[0] if asked.batch else make(**settings).settings["batch"]
    return lambda n, dtype: make(batch=n, dtype=dtype, **settings), batch, asked.recipe or "fp32"


def _captured(asked: Memory) -> tuple[Build, int, str]:
    """A module of the user's, at its own batch (and others, as they are asked for): in the recipe's format, or else as it is."""
    own_format = RECIPES[asked.recipe].dtype if asked.recipe else None
    graphs: dict[int, Graph] = {}

    def capture(batch: int | None) -> tuple[int, Graph]:
        """The batch as well: a graph's own inputs may be views, flattened or transposed."""
        captured = capture_all(
            SimpleNamespace(
                target=asked.target, input=list(asked.input), batch=(batch,) if batch else None, dtype=own_format, seq=asked.seq,
                training=False, set=asked.set, weights=(OWN,), limit=asked.limit,
            )
        )  # fmt: skip
        return captured.batch or 1, captured.main

    batch, own = capture(asked.batch[0] if asked.batch else None)
    graphs[batch] = own
    recipe = asked.recipe or _own_recipe(own)

    def build(n: int, dtype: str) -> Graph:
        if dtype != RECIPES[recipe].dtype:
            raise BadValue(f"{asked.target} was captured in {RECIPES[recipe].dtype}; choose another recipe with `recipe`")
        if n not in graphs:
            graphs[n] = capture(n)[1]
        return graphs[n]

    return build, batch, recipe


def _own_recipe(graph: Graph) -> str:
    """Gradients and optimiser state in the format of the trained weights, as PyTorch makes them."""
    trained = parameters(graph)
    wide = sum(float(t.size) for t in trained if t.dtype == "fp32")
    return "fp32" if not trained or wide >= sum(float(t.size) for t in trained) / 2 else "pure"


def _answer(asked: Memory, build: Build, graph: Graph, setup: Setup, variants: list[MemoryVariant]) -> MemoryJson:
    now = ledger(build, setup)
    grown = _growth(build, setup) if asked.on else None
    return {
        "target": asked.target, "parameters": graph.params, "batch": setup.batch, "seq": graph.settings.get("seq"),
        "recipe": setup.recipe, "optimiser": setup.optimiser, "checkpoint": setup.checkpoint, "loss_chunks": setup.loss_chunks,
        "accumulate": setup.accumulate, "attention": setup.attention, "zero_stage": setup.zero_stage, "devices": setup.devices,
        "offload": setup.offload, "lora": setup.lora, "four_bits": setup.quantised, "trained": _trained(build, setup),
        "weight_bytes": now.static.weights, "static_bytes": now.static.total, "kept_bytes": now.kept,
        "peak_bytes": now.peak, "peak_phase": now.peak_at.phase, "peak_op": now.peak_at.op,
        "rows": [{"row": row, "at_peak_bytes": now.at_peak(row), "most_bytes": now.rows[row]} for row in ROWS],
        "phases": {phase: max(m.total for m in now.profile if m.phase == phase) for phase in dict.fromkeys(m.phase for m in now.profile)},
        "machines": [_fit(machine, now, grown) for machine in asked.on],
        "levers": _levers(build, graph, setup, now), "variants": variants,
    }  # fmt: skip


def _trained(build: Build, setup: Setup) -> float:
    return float(sum(t.size for t in parameters(graph_of(build, setup))))


def _at(build: Build, setup: Setup, machines: Any) -> MemoryVariant:
    """The same step at another batch."""
    now = ledger(build, setup)
    return {
        "batch": setup.batch, "static_bytes": now.static.total, "kept_bytes": now.kept, "peak_bytes": now.peak,
        "fits": {machine.slug: now.fits(machine.usable) for machine in machines},
    }  # fmt: skip


def _growth(build: Build, setup: Setup) -> Growth | None:
    """None where the model can't run at a batch of one or two, or runs other ops there."""
    try:
        return growth(build, setup)
    except IronlawError:
        return None


def _fit(machine: Any, now: Ledger, grown: Growth | None) -> MemoryMachine:
    usable = machine.usable
    return {
        "hardware": machine.slug, "usable_bytes": usable, "fits": now.fits(usable), "headroom_bytes": usable - now.peak,
        "static_fits": now.static.total <= usable, "largest_batch": None if grown is None else grown.largest(usable),
    }  # fmt: skip


def _levers(build: Build, graph: Graph, setup: Setup, now: Ledger) -> list[MemoryLever]:
    rows: list[MemoryLever] = []
    for name, other in (*levers(graph, setup), *fewer_trained(graph, setup), *elsewhere(setup)):
        if any(one["lever"] == name for one in rows):
            continue
        try:
            peak = ledger(build, replace(other)).peak
        except IronlawError:  # a captured model is in one format, and may refuse another batch
            continue
        rows.append({"lever": name, "peak_bytes": peak, "frees_bytes": now.peak - peak})
    return sorted(rows, key=lambda one: -one["frees_bytes"])
