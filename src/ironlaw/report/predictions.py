"""How long a model takes on several machines in several modes, side by side, and what that costs if asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.deployment import last_logits
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.prediction_text import span
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError
from ironlaw.report.analysis_text import refusals, variant_dicts
from ironlaw.report.model_variants import Variant
from ironlaw.report.report_costs import costs
from ironlaw.report.too_large import too_large
from ironlaw.systems.fields import among, custom, same, several, switch, whole
from ironlaw.systems.launched_workloads import sizes
from ironlaw.systems.question import Question, Table
from ironlaw.systems.registry_graphs import model
from ironlaw.systems.registry_names import known_prices, machines, read_mode
from ironlaw.systems.workload_settings import Costs, Launching, Products, Sizes, by_batch, fp32, launching, settings
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import CostsJson

LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # batches among which the cheapest within a latency is looked for


def predict_all(graph: Graph, on: Sequence[Hardware], plans: Sequence[Plan]) -> tuple[list[Prediction], dict[str, str]]:
    """What is predicted for each machine, and why some can't run the graph. One whose memory is too small is predicted all the same."""
    able: list[Prediction] = []
    refused: dict[str, str] = {}
    for machine in on:
        try:
            able += [predict(graph, machine, plan) for plan in plans]
        except IronlawError as error:
            refused[machine.slug] = str(error)
    return able, refused


@dataclass(frozen=True, repr=False)
class Predictions(Question):
    """A model of the registry, or a folder with the config.json of a decoder, on each machine in each mode.

    >>> import ironlaw as il
    >>> p = il.predictions("resnet50", on="h100_sxm,t4", mode="eager,compiled")
    >>> [(one.hardware.slug, one.plan.mode) for one in p.rows][:2]
    [('h100_sxm', 'eager'), ('h100_sxm', 'compiled')]
    """

    schema = "ironlaw-predict/1"
    workload: str = custom(
        str, flag="WORKLOAD", metavar="WORKLOAD", about="a model (see `ironlaw workload`), or a folder with a decoder's config.json"
    )
    on: tuple[Hardware, ...] = machines()
    mode: tuple[str, ...] = several(
        read_mode, ("eager",), metavar="MODE[,MODE]",
        about="eager (default), compiled, graphs (CUDA graphs of compiled code), eager_graphs (of eager code); several go side by side",
    )  # fmt: skip
    dispatch: str = among(
        ("queued", "synchronous"), "queued", about="queued (default): the host runs ahead; synchronous: it waits for each kernel"
    )
    uncalibrated: bool = switch(False, about="use only the datasheet's figures, which give a lower bound")
    ops: int | None = whole(None, metavar="N", about="also list the N operators that take longest (all with --json)")
    strict_fp32: bool = same(Products, "strict_fp32")
    tf32: bool = same(Products, "tf32")
    host: Host | None = same(Launching, "host")  # noqa: RUF009  a field, as all of them
    launch: float | None = same(Launching, "launch")
    batch: tuple[int, ...] | None = same(Sizes, "batch")
    seq: int | None = same(Sizes, "seq")
    phase: str | None = same(Sizes, "phase")
    prefill: int | None = same(Sizes, "prefill")
    decode: bool = same(Sizes, "decode")
    context: int | None = same(Sizes, "context")
    dtype: str | None = same(Sizes, "dtype")
    classes: int | None = same(Sizes, "classes")
    price: Mapping[str, float] | None = same(Costs, "price")
    latency: float | None = same(Costs, "latency")

    def __post_init__(self) -> None:
        super().__post_init__()
        known_prices(self.on, self.price or {})  # a price of a machine that is not asked about is refused first

    @cached_property
    def graphs(self) -> dict[int | None, Graph]:
        """The graphs at each batch; `rows` are those of the first."""
        chosen = settings(self)
        graphs = by_batch({"batch": LADDER} | chosen if self.latency is not None else chosen, model(self.workload))
        return {n: last_logits(each) for n, each in graphs.items()} if self.prefill is not None else graphs

    @property
    def graph(self) -> Graph:
        return next(iter(self.graphs.values()))

    @property
    def plans(self) -> list[Plan]:
        return [Plan(mode, self.dispatch, not self.uncalibrated, fp32=fp32(self), **launching(self)) for mode in self.mode]

    @cached_property
    def _outcome(self) -> tuple[list[Prediction], dict[str, str]]:
        rows, refused = predict_all(self.graph, self.on, self.plans)
        if not rows:
            reasons = list(refused.values())
            raise BadValue(reasons[0] if len(reasons) == 1 else f"none of these machines can run {self.workload}: {'; '.join(reasons)}")
        return rows, refused

    @property
    def rows(self) -> list[Prediction]:
        """One for each machine and mode."""
        return self._outcome[0]

    @property
    def refused(self) -> dict[str, str]:
        """Machine -> why it can't run the model."""
        return self._outcome[1]

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The same at each batch."""
        able = tuple({p.hardware.slug: p.hardware for p in self.rows}.values())
        others = {n: self.rows if each is self.graph else predict_all(each, able, self.plans)[0] for n, each in self.graphs.items()}
        return tuple(Variant(n, OWN, self.graphs[n], tuple(ran)) for n, ran in others.items())

    @cached_property
    def costs(self) -> CostsJson | None:
        """Cost of a million samples; None if neither a price nor a latency was given."""
        if self.price is None and self.latency is None:
            return None
        return costs(self.variants, known_prices(self.on, self.price or {}), self.latency)

    def chrome_trace(self, place: str | Path) -> Path:
        """Write the predicted runs over time to a file for Perfetto, a host's and a device's lane for each."""
        from ironlaw.report.chrome_trace import write

        return write(self.rows, place)

    @cached_property
    def answer(self) -> dict[str, Any]:
        graph, variants = self.graph, self.variants
        return {
            "workload": graph.name, "dtype": graph.dtype, "settings": sizes(graph),
            "predictions": [p.to_dict(self.ops) for p in self.rows], "variants": variant_dicts(variants) if len(variants) > 1 else [],
            "refused": refusals(self.refused), "too_large": too_large(self.rows), **({"costs": self.costs} if self.costs else {}),
        }  # fmt: skip

    def table(self) -> Table:
        rows = [
            (p.hardware.slug, p.plan.mode, show(p.seconds, "s"), span(p.interval) if p.interval else "–", str(p.bound), p.label)
            for p in self.rows
        ]  # fmt: skip
        return Table(self.graph.name, ("machine", "mode", "time", "likely", "bound by", "figures"), rows)
