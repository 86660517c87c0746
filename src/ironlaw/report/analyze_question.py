"""What `ironlaw analyze` is asked of one target, and the analysis that answers it: sizes, phases, traces, costs and real steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.stored_weights import OWN, STORED
from ironlaw.engine.training.adapters import RANK
from ironlaw.engine.training.recipes import RECIPES
from ironlaw.errors import BadValue
from ironlaw.report.loader_words import read_rate
from ironlaw.systems.captures import CAPTURE_S, Captures, capture_phases, file_of, read_setting
from ironlaw.systems.fields import custom, figure, same, several, switch, whole
from ironlaw.systems.question import Question
from ironlaw.systems.registry_graphs import as_captured, build_all, is_ours, stored_format
from ironlaw.systems.registry_names import known_prices, machines, read_mode
from ironlaw.systems.script_captures import capture_script, is_script, real_steps
from ironlaw.systems.value_readers import LARGEST, read_option
from ironlaw.systems.workload_settings import Costs, Launching, Products, Sizes, fp32, launching
from ironlaw.tracing.scripts.run_script import STEPS
from ironlaw.units import show

if TYPE_CHECKING:  # the report's pictures are imported only when there is one: `import ironlaw` stays light
    from ironlaw.report.analysis import Analysis

MODES = ("eager", "compiled", "graphs")
TRAINED = ("eager", "compiled")  # where none was asked for: an optimiser is not part of a graph that is replayed
PHASES = "a language model's phases, one or both"
SCRIPTS = "a script, as it is"
CONTEXT = 512  # tokens in the cache where nothing is said


def read_storage(name: str) -> str:
    return str(read_option(name, (OWN, *STORED), "storage of weights"))


@dataclass(frozen=True, repr=False)
class Analyze(Question):
    """What is asked of one target; `analysis()` answers."""

    target: str = custom(
        str, flag="TARGET", metavar="TARGET",
        about="FILE.py or PACKAGE.MODULE, a script, whose own arguments go after --; FILE.py:NAME or PACKAGE.MODULE:NAME, which may be a"
        " module, a class or factory, a function (also your own training step) or an exported program;"
        " FILE.pt2; hf:CONFIG, such as hf:LlamaConfig, or hf:FOLDER with a config.json; or, without PyTorch, a model of the registry or"
        " FOLDER",
    )  # fmt: skip
    on: tuple[Hardware, ...] = machines()
    input: tuple[str, ...] = several(
        str, (), again=True, metavar="SHAPE[:FMT]",
        about="shape of an input, such as 8x3x224x224 or 8x128:int64, once per input (default: NAME_inputs or example_inputs in the file)",
    )  # fmt: skip
    batch: tuple[int, ...] | None = same(
        Sizes, "batch", group="", about="batch size, the first dimension of every input; several are shown side by side"
    )
    seq: int | None = same(Sizes, "seq", group="", about="tokens per sequence, for hf: models that take tokens (default 128)")
    dtype: str | None = same(
        Sizes, "dtype", group="", about="number format: fp64, fp32, tf32, fp16 or bf16, or PyTorch's names (default: the model's own)"
    )
    prefill: int | None = same(Sizes, "prefill", group=PHASES)
    decode: bool = same(Sizes, "decode", group=PHASES)
    context: int | None = same(Sizes, "context", group=PHASES)
    strict_fp32: bool = same(Products, "strict_fp32")
    tf32: bool = same(Products, "tf32")
    set: tuple[tuple[str, Any], ...] = several(
        read_setting, (), again=True, metavar="KEY=VALUE", about="set a config field or factory argument"
    )
    weights: tuple[str, ...] = several(
        read_storage, (OWN,), metavar="FMT[,FMT]",
        about="store the weights of linear layers in int8 or int4 (own: leave them as they are); several are shown side by side",
    )  # fmt: skip
    training: bool = switch(False, about="predict a training step: forward, backward and AdamW")
    lora: int | None = whole(None, metavar="N", about="of a training step: adapters of this rank on every linear layer, the model frozen")
    qlora: bool = switch(
        False, about=f"the usual QLoRA step: weights in NF4, adapters of rank {RANK}, paged 8-bit AdamW, every block checkpointed"
    )
    mode: tuple[str, ...] = several(
        read_mode, MODES, metavar="MODE[,MODE]",
        about="eager, compiled, graphs (CUDA graphs of compiled code), eager_graphs (of eager code); default: the first three, or"
        " the first two for a training step",
    )  # fmt: skip
    trace: tuple[str, ...] = several(
        str, (), metavar="FILE[,FILE]",
        about="a torch.profiler trace (.json or .json.gz) or an Nsight Systems export (.sqlite) of one or more runs, to compare with the"
        " prediction operator by operator and to see what the device waits for; several are ranks of one run",
    )  # fmt: skip
    compile_s: float | None = figure(
        None, unit="s", zero=True, metavar="TIME", about="compile time, such as 30 (seconds) or '2 min'; predicted if you leave it out"
    )
    per_day: float | None = figure(
        None, most=LARGEST, metavar="N", about="calls per day, to say on which day compiling has paid for itself"
    )
    loader: float | None = custom(
        read_rate, None, metavar="RATE", about="samples per second your input pipeline delivers, such as 850/s: does it starve the GPU?"
    )
    limit: float = figure(
        CAPTURE_S, unit="s", zero=True, metavar="TIME",
        about=f"time limit for running your file, such as '90 s'; 0 for none (default {show(CAPTURE_S, 's')})",
    )  # fmt: skip
    arguments: tuple[str, ...] = several(str, (), again=True, metavar="ARG", group=SCRIPTS, about="what the script itself is called with")
    steps: int = whole(STEPS, metavar="N", group=SCRIPTS, about=f"look at the Nth optimiser step, or call (default {STEPS})")
    world: int | None = whole(
        None, metavar="N", group=SCRIPTS, about="as rank 0 of N pretended ranks, for DDP, FSDP2 and other collectives"
    )
    real: int | None = whole(
        None, metavar="N", group=SCRIPTS,
        about="afterwards train for real, with your data on this machine: N optimiser steps are timed and set beside the prediction",
    )  # fmt: skip
    host: Host | None = same(Launching, "host")  # noqa: RUF009  a field, as all of them
    launch: float | None = same(Launching, "launch")
    price: Mapping[str, float] | None = same(Costs, "price")
    latency: float | None = same(Costs, "latency")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "target", as_captured(self.target))

    @property
    def adapters(self) -> tuple[int, bool] | None:
        """Rank, and whether the weights lie in four bits."""
        return (self.lora or RANK, self.qlora) if self.lora or self.qlora else None

    @property
    def sources(self) -> list[str]:
        """The files that are read, and may not be written over."""
        own = [] if self.target.startswith("hf:") or is_ours(self.target) else [file_of(self.target)]
        return [*own, *self.trace]

    @property
    def plans(self) -> list[Plan]:
        return [Plan(mode, fp32=fp32(self), **launching(self)) for mode in (TRAINED if self.training and self.mode == MODES else self.mode)]

    @property
    def phases(self) -> dict[str, int]:
        """The phases that were asked for, the prompt first, and how long each is."""
        if self.prefill is None and not self.decode:
            if self.context is not None:
                raise BadValue("`context` is how many tokens the cache holds; add `decode` for a step after them")
            return {}
        for name in ("training", "seq", "input"):
            if getattr(self, name):
                raise BadValue(f"`{name}` does not go with `prefill` and `decode`, which say what goes in; leave it out")
        if not self.target.startswith("hf:") and not is_ours(self.target):
            raise BadValue(
                f"{self.target} defines its own inputs; `prefill` and `decode` are for a model of the registry, hf:CONFIG such as"
                " hf:LlamaConfig, or a folder with a config.json. Give your own step its cache as an input"
            )
        lengths = {"prefill": self.prefill} if self.prefill is not None else {}
        return lengths | ({"decode": self.context or self.prefill or CONTEXT} if self.decode else {})

    def analysis(self) -> Analysis:
        """The analysis of the target: built from the registry, or captured in a process of its own."""
        known_prices(self.on, self.price or {})
        if self.real and not is_script(self.target):
            raise BadValue("`real` trains a script, such as train.py; to time a model use `ironlaw measure model`")
        if self.adapters and not self.training:
            raise BadValue("adapters are trained; add `training` to `lora` or `qlora`")
        if self.adapters and self.dtype is None:
            return replace(self, dtype=RECIPES["pure"].dtype).analysis()
        kept = "" if self.training or self.weights != (OWN,) else stored_format(self.target)
        if kept in STORED:
            return replace(self, weights=(kept,)).analysis()
        profile = self._profile()  # these first: a bad file is reported before a large model is captured
        lengths = self.phases
        if is_script(self.target) and not is_ours(self.target):
            script = capture_script(self)
            asked = replace(self, training=True) if script.main.settings.get("training") else self
            if script.main.settings.get("compiles") and self.mode == MODES:
                modes = TRAINED if asked.training else MODES
                asked = replace(asked, mode=("compiled", *(mode for mode in modes if mode != "compiled")))
            predicted = asked.of({"": script}, {}, profile)
            return replace(predicted, real=real_steps(self)) if self.real else predicted
        captured = build_all(self, lengths) if is_ours(self.target) else capture_phases(self, lengths)
        made = self.of(captured, lengths, profile)
        if not kept:
            return made
        here = made.graph.dtype.upper()
        note = f"the checkpoint stores its layers in {kept.upper()}; here they are in {here}, and `ironlaw capacity` prices them as stored"
        return replace(made, graph=replace(made.graph, settings={**made.graph.settings, "notes": (*made.notes, note)}))

    def of(self, captured: Mapping[str, Captures], lengths: Mapping[str, int], profile: Any = None) -> Analysis:
        """The graphs by phase; the last phase is what the report is about."""
        from ironlaw.report.analysis import Analysis, Compiling, compiling
        from ironlaw.report.model_variants import Variant
        from ironlaw.report.predictions import predict_all
        from ironlaw.report.report_costs import costs
        from ironlaw.report.trace_join import is_compiled, join
        from ironlaw.systems.largest_sizes import capacities

        profile = profile or self._profile()
        captures, plans = captured[list(captured)[-1]], self.plans
        runs, refused = predict_all(captures.main, self.on, plans)
        if not runs:
            raise BadValue("; ".join(refused.values()))
        given = None if self.compile_s is None else Compiling(self.compile_s, "given with --compile-s")
        able = list({p.hardware.slug: p.hardware for p in runs}.values())
        first = runs[0]
        variants = tuple(
            Variant(
                batch, fmt, graph, tuple(runs) if graph is captures.main else tuple(predict(graph, m, plan) for m in able for plan in plans)
            )
            for (batch, fmt), graph in captures.graphs.items()
        )
        traced = "compiled" if profile and is_compiled(profile[0]) else "eager"
        made = Analysis(
            captures.main,
            tuple(runs),
            self.target,
            refused,
            compiling(runs) if given is None else {p.hardware.slug: given for p in runs},
            self.per_day,
            joined=join(predict(captures.main, first.hardware, replace(first.plan, mode=traced)), profile[0], profile[1:])
            if profile
            else None,
            variants=variants,
            capacities=capacities(captures.growths, self.on),
            unsized=captures.unsized,
            sources=captures.sources,
            loader=self.loader,
            own=captures.own,
        )
        if lengths:
            made = replace(made, language=_language(captured, lengths, plans, made))
        if self.price is not None or self.latency is not None:
            prices = known_prices(self.on, self.price or {})
            per_hour = {slug: price.per_hour for slug, price in prices.items()}
            made = replace(made, prices=per_hour, costs=costs(made.variants, prices, self.latency))
        return made

    def _profile(self) -> Any:
        from ironlaw.report.kineto import read

        return [read(place) for place in self.trace]


def _language(captured: Mapping[str, Captures], lengths: Mapping[str, int], plans: list[Plan], made: Analysis) -> Any:
    """What the phases take on the machines that can run them; those of the last phase are predicted already."""
    from ironlaw.report.language_report import Language, Phase

    every = []
    for name, captures in captured.items():
        batches: dict[int, tuple[Prediction, ...]] = {}
        for (batch, _), graph in captures.graphs.items():
            known = next((v.predictions for v in made.variants if v.graph is graph), None)
            batches.setdefault(batch or 1, known or tuple(predict(graph, m, plan) for m in made.machines for plan in plans))
        growth = next((curve for curve in captures.growths if curve.what == "batch"), None)
        every.append(Phase(name, lengths[name], captures.kept or 0.0, batches, growth))
    return Language(tuple(every))
