"""A language model, its traffic and its SLO, on machines that may serve it; and one way to meet the SLO."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.engine.serving.llm.layout import Layout
from ironlaw.engine.serving.llm.policy import PREEMPTIONS, SCHEDULES, Policy
from ironlaw.engine.serving.llm.promise import Answer, Promise
from ironlaw.errors import BadValue
from ironlaw.registry.decoders import decoder
from ironlaw.registry.engines import PLAIN, engine
from ironlaw.registry.prices import Price
from ironlaw.systems.fields import among, custom, figure, share, switch, whole
from ironlaw.systems.question import Question
from ironlaw.systems.registry_names import known_prices, machines, read_prices
from ironlaw.systems.serving.benchmarks import Measured, followed, read_benchmark
from ironlaw.systems.serving.deployments import MEMORY, USUAL, Deployment, deployment
from ironlaw.systems.serving.search.demand_readers import read_columns, read_engine, read_percentile, read_spread, read_stored
from ironlaw.systems.serving.search.request_load import Draw, load_of
from ironlaw.systems.value_readers import LARGEST

LENGTHS = (1, 2, 4, 8)  # proposed tokens that are tried where only their acceptance is known
SEQUENCES = 256  # per step, where nothing is said
GAP = 0.05  # seconds between two tokens, where nothing is said of them
LOAD, PROMISE, HOW, WAY = "the traffic", "the SLO", "the deployment", "how requests are batched"


@dataclass(frozen=True, repr=False)
class Demand(Question):
    model: str = custom(
        str,
        flag="MODEL",
        metavar="MODEL",
        about="a decoder of the registry, a folder with the config.json of one, or its id in the local hub cache",
    )
    on: tuple[Hardware, ...] = machines()
    rate: float | None = figure(
        None, most=LARGEST, metavar="N", group=LOAD, about="requests per second; with `trace`, replay its requests at this rate"
    )
    trace: str | None = custom(
        str, None, metavar="NAME|FILE", group=LOAD, about="azure_chat_2023, azure_code_2023, or a CSV file with arrival, prompt and output"
    )
    columns: Mapping[str, str] | None = custom(
        read_columns, None, metavar="A=B[,…]", group=LOAD, about="the file's own names for the columns arrival, prompt and output"
    )
    prompt: int | None = whole(None, metavar="N", group=LOAD, about=f"average tokens per prompt (default {USUAL[0]:,})")
    output: int | None = whole(None, metavar="N", group=LOAD, about=f"average tokens per answer (default {USUAL[1]:,})")
    spread: float | None = custom(
        read_spread,
        None,
        metavar="CV",
        group=LOAD,
        about="spread of both lengths, standard deviation over mean; 0 makes all alike (default 1)",
    )
    requests: int | None = whole(
        None, metavar="N", group=LOAD, about="how many requests to simulate (default: as many as the replicas need)"
    )
    seed: int = whole(0, least=-LARGEST, metavar="N", group=LOAD, about="seed of the simulated requests")
    ttft: float = figure(1.0, unit="s", metavar="TIME", group=PROMISE, about="limit on the time to first token (default 1 s)")
    tbt: float | None = figure(
        None, unit="s", metavar="TIME", group=PROMISE, about="limit on every gap between tokens (default 50 ms; none if `tpot` is given)"
    )
    tpot: float | None = figure(
        None,
        unit="s",
        metavar="TIME",
        group=PROMISE,
        about="limit on a request's mean time per token after the first, as MLPerf and vLLM count it",
    )
    percentile: float = custom(
        read_percentile, 99.0, metavar="P", group=PROMISE, about="percentile at which the limits must hold (default 99)"
    )
    weights: str | None = custom(
        read_stored, None, metavar="FMT", group=HOW, about="number format of stored weights (default: the machine's 16-bit format)"
    )
    arithmetic: str | None = among(
        ("fp8",), None, group=HOW, about="number format of the layers' matrix products (default: the machine's 16-bit format)"
    )
    cache: str | None = custom(read_stored, None, metavar="FMT", group=HOW, about="number format of the KV cache")
    tp: int | None = whole(None, metavar="N", group=HOW, about="tensor parallelism, devices that share each product (default: tries them)")
    pp: int | None = whole(
        None, metavar="N", group=HOW, about="pipeline parallelism, stages per replica (default: tries them where wires are slow)"
    )
    dp: int | None = whole(
        None,
        metavar="N",
        group=HOW,
        about="attention data parallelism: groups with their own requests that share whole experts (default: tries them)",
    )
    experts: bool = switch(False, group=HOW, about="expert parallelism: each expert whole on one device, instead of a part on each")
    fleet: int | None = whole(
        None, metavar="N", group=HOW, about="devices that you have: which deployment of them takes the largest rate, and what rate that is"
    )
    engine: str = custom(
        read_engine,
        PLAIN.slug,
        metavar="NAME",
        group=HOW,
        about="serving engine whose own time and defaults count: vllm, sglang, trtllm (default plain: none)",
    )
    benchmark: str | None = custom(
        str,
        None,
        metavar="FILE",
        group=HOW,
        about="result of `vllm bench serve` or genai-perf on one machine: the engine's time follows it",
    )
    batch: int | None = whole(
        None, metavar="N", group=HOW, about="most sequences per step, in each batch under way (default the engine's, or 256)"
    )
    budget: int | None = whole(None, metavar="N", group=HOW, about="most tokens per step (default: as many as `tbt` allows)")
    memory: float | None = share(
        None, above=True, metavar="SHARE", group=HOW, about="share of a device's memory to use (default the engine's, or 0.9)"
    )
    overhead: float = figure(
        0.0, unit="s", zero=True, metavar="TIME", group=HOW, about="time the serving engine adds to each step (docs/serving.md: 1.5 ms)"
    )
    most: int = whole(64, metavar="N", group=HOW, about="most replicas to try (default 64)")
    scheduling: str = among(
        SCHEDULES, "continuous", group=WAY, about="continuous (default), or static: a batch starts when the one before is done"
    )
    prompts: str | None = among(
        ("pieces", "whole"),
        None,
        group=WAY,
        about="pieces (default, unless the engine's differs): in chunks, alongside decoding; whole: at once, while decoding waits",
    )
    preemption: str = among(
        PREEMPTIONS, "recompute", group=WAY, about="what happens to the youngest request when the cache is full (default recompute)"
    )
    prefix: int | None = whole(None, metavar="N", group=WAY, about="tokens of a prefix that all prompts share, computed and cached once")
    speculate: int | None = whole(
        None, metavar="N", group=WAY, about="speculative decoding: tokens proposed per step (default: tries 1, 2, 4 and 8)"
    )
    acceptance: float | None = share(
        None, metavar="SHARE", group=WAY, about="decode speculatively, with this share of proposed tokens accepted"
    )
    draft: str | None = custom(
        str, None, metavar="MODEL", group=WAY, about="small decoder that proposes the tokens, on every device (default: proposing is free)"
    )
    apart: bool = switch(False, group=WAY, about="disaggregated: some replicas only prefill, others only decode")
    price: Mapping[str, float] | None = custom(
        read_prices, None, metavar="HW=N[,…]", about="dollars per hour for one device, such as h200=3.5 (default: the registry's prices)"
    )
    simulate: bool = switch(False, about="also show the best choice's run over time")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("speculate", "draft"):
            if getattr(self, name) is not None and self.acceptance is None:
                raise BadValue(f"`{name}` needs the share of proposed tokens that are accepted; give `acceptance=0.7`")
        if self.benchmark and self.overhead:
            raise BadValue("what `overhead` adds to a step is in the `benchmark` already; leave one of them out")
        if self.benchmark and len(self.on) > 1:
            raise BadValue(f"`benchmark` is of one machine, but `on` names {len(self.on)}; give the machine that it ran on")
        longest = max(self.lengths, default=0)
        if self.budget and self.budget <= longest:
            raise BadValue(f"`budget={self.budget}` has no room for {longest} proposed tokens; give at least {longest + 1}")
        if self.apart and self.scheduling == "static":
            raise BadValue("`apart` decodes in continuous batches; leave out `scheduling=static`")
        if self.apart and self.most < 2:
            raise BadValue(f"`apart` needs at least two replicas, but `most` allows {self.most}; give `most=2` or more")

    @cached_property
    def decoder(self) -> Decoder:
        one = decoder(self.model)
        tokens = (self.prompt or 0) + (self.output or 0)
        if one.positions and tokens > one.positions:
            raise BadValue(
                f"{one.name} takes {one.positions:,} tokens at most, but prompt and answer have {tokens:,} on average; give shorter ones",
                "prompt",
            )
        return one

    @cached_property
    def proposer(self) -> Decoder | None:
        return decoder(self.draft) if self.draft else None

    @property
    def load(self) -> Draw:
        """The requests for so many replicas."""
        return self._load[0]

    @property
    def about(self) -> dict[str, Any]:
        """What the requests are: where they come from, how many a second, how long."""
        return self._load[1]

    @cached_property
    def _load(self) -> tuple[Draw, dict[str, Any]]:
        return load_of(self)

    @property
    def promise(self) -> Promise:
        gap = GAP if self.tbt is None and self.tpot is None else self.tbt
        return Promise(self.ttft, math.inf if gap is None else gap, self.percentile / 100, math.inf if self.tpot is None else self.tpot)

    @cached_property
    def server(self) -> Engine:
        return engine(self.engine)

    def own_time(self, machine: Hardware) -> Engine:
        """The engine's, on a machine: as it is known, or as a benchmark says."""
        return self._followed(machine)[0]

    def steps_factor(self, machine: Hardware) -> float:
        """How many times as long as predicted steps take, where a benchmark was faster than the device alone."""
        return self._followed(machine)[1]

    def _followed(self, machine: Hardware) -> tuple[Engine, float]:
        if self.measured is None:
            return self.server, 1.0
        if machine.slug not in self._corrected:
            devices = (self.tp or 1) * (self.pp or 1) * (self.dp or 1)
            layout = Layout(self.tp or 1, self.pp or 1, self.dp or 1, self.experts or (self.dp or 1) > 1)
            rig = deployment(
                self.decoder, machine, devices, layout=layout, weights=self.weights or "", cache=self.cache or "",
                memory=self.share_of_memory, products=self.arithmetic or "", tokens=round(self.measured.prompt + self.measured.output),
                of_free=self.server.free_memory,
            )  # fmt: skip
            budget = self.budget or self.server.usual_budget(machine.slug, float(machine.capacity))
            policy = Policy(most=min(self.most_sequences(machine), budget), budget=budget)
            spread = 1.0 if self.spread is None else self.spread
            self._corrected[machine.slug] = followed(self.server, self.measured, rig, policy, spread)
        return self._corrected[machine.slug]

    @cached_property
    def _corrected(self) -> dict[str, tuple[Engine, float]]:
        return {}

    @cached_property
    def measured(self) -> Measured | None:
        return read_benchmark(self.benchmark) if self.benchmark else None

    @property
    def share_of_memory(self) -> float:
        return self.memory or (MEMORY if self.server is PLAIN else self.server.memory)

    def most_sequences(self, machine: Hardware) -> int:
        """Sequences of each part of a replica in a step, at most."""
        usual = SEQUENCES if self.server is PLAIN else self.server.usual_sequences(machine.slug, float(machine.capacity))
        return self.batch or usual

    @property
    def pieces(self) -> tuple[bool, ...]:
        """Whether prompts are cut into pieces that run beside decoding: as asked, or the engine's own way first."""
        if self.prompts is not None or not self.server.whole_prompts:
            return (self.prompts != "whole",)
        return False, True

    @property
    def lengths(self) -> tuple[int, ...]:
        """Proposed tokens to try, where `acceptance` is given."""
        return () if self.acceptance is None else (self.speculate,) if self.speculate else LENGTHS

    @cached_property
    def tried(self) -> dict[tuple[Any, ...], tuple[Deployment, bool]]:
        """Which deployments met the SLO at which rate; each is kept, so that its identity stays its own."""
        return {}

    @cached_property
    def rigs(self) -> dict[tuple[str, Layout], Deployment]:
        """Replicas by machine and layout, with the steps that were predicted for them."""
        return {}

    @cached_property
    def prices(self) -> dict[str, Price]:
        return known_prices(self.on, self.price or {})


@dataclass(frozen=True)
class Choice:
    """A way to meet the SLO. `prompts`: replicas that only compute prompts; 0 where all do both."""

    deployment: Deployment
    policy: Policy
    answer: Answer
    prompts: int = 0

    @property
    def devices(self) -> int:
        return self.deployment.devices * self.answer.replicas
