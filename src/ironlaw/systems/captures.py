"""What `ironlaw analyze` captures: the call itself, at each batch and with each storage of weights, and at a few more sizes from
which the largest that fits is computed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import worker
from ironlaw.engine.advice.program import Sources
from ironlaw.engine.device.machine import NARROW, Plan
from ironlaw.engine.device.predict import prepare
from ironlaw.engine.device.stored_weights import OWN, quantised
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError
from ironlaw.systems.largest_sizes import Growth, growth
from ironlaw.systems.workload_settings import fp32
from ironlaw.tracing.capture_job import ASKED, GROWN, HALF, STEPS
from ironlaw.tracing.graph_json import from_json
from ironlaw.worker.json_values import encode

MOST, UNIT = {"batch": "the largest batch", "tokens": "the longest sequence"}, {"batch": "", "tokens": " tokens"}
COMPILED = "compiled"
CAPTURE_S = 300.0  # a model of a hundred thousand operators takes less than one


@dataclass(frozen=True)
class Captures:
    """The first of `graphs` is what the report is about. `unsized`: why the largest batch or length is not known."""

    own: Graph  # with the weights as they are
    graphs: dict[tuple[int | None, str], Graph]  # (batch, storage of weights) -> graph
    growths: tuple[Growth, ...]
    unsized: tuple[str, ...]
    kept: float | None = None  # of a language model: bytes that one sequence leaves in the cache
    sources: Sources | None = None  # what a changed program is made from

    @property
    def main(self) -> Graph:
        return next(iter(self.graphs.values()))

    @property
    def batch(self) -> int | None:
        """The batch of `main`; None where the call takes no tensor."""
        return next(iter(self.graphs))[0]


def capture_all(asked: Any) -> Captures:
    """The call, at all sizes that are needed."""
    return capture_phases(asked, {})[""]


def capture_phases(asked: Any, phases: Mapping[str, int]) -> dict[str, Captures]:
    """Every phase, or the one call (as ""), in a process of its own, since it runs the user's file; PyTorch is imported there alone."""
    captured: dict[str, dict[str, dict[Any, Graph]]] = {}
    reasons: dict[str, dict[str, str]] = {}
    with operator_count() as progress:

        def keep(part: Any) -> None:
            if "ops" in part:
                progress(part["ops"])
            elif "graph" in part:
                key = frozenset(part["changes"]) if "changes" in part else part["size"]
                graph = captured.setdefault(part["phase"], {}).setdefault(part["what"], {})[key] = from_json(part["graph"])
                if part["what"] in (ASKED, STEPS):
                    fused_meanwhile(asked, graph)
            else:
                reasons.setdefault(part["phase"], {}).setdefault(part["what"], part["reason"])

        request = {name: getattr(asked, name) for name in ("target", "input", "batch", "dtype", "seq", "training")}
        if asked.dtype == NARROW:  # the model is FP32's: only its products round what they read
            request["dtype"] = "fp32"
        if getattr(asked, "adapters", None):
            request |= {"adapters": list(asked.adapters)}
        request |= {"set": encode(dict(asked.set)), "progress": progress is not None, "phases": dict(phases)}
        sizes = worker.run("ironlaw.tracing.capture_job:job", request, name=file_of(asked.target), limit_s=asked.limit, on_part=keep)
    return {phase: captures_of(asked, graphs, reasons.get(phase, {}), sizes[phase]) for phase, graphs in captured.items()}


def fused_meanwhile(asked: Any, graph: Graph) -> None:
    """While the next graph is captured in the other process, this one's kernels are planned, as the first machine's compiler would."""
    machine = next(iter(getattr(asked, "on", ())), None)
    if machine is None or COMPILED not in getattr(asked, "mode", ()) or asked.weights != (OWN,):
        return
    with suppress(IronlawError):  # a prediction says so, where it is asked for
        prepare(graph, machine, Plan(COMPILED, fp32=fp32(asked)))


def captures_of(asked: Any, captured: dict[str, dict[Any, Graph]], reasons: Mapping[str, str], sizes: Mapping[str, Any]) -> Captures:
    """Captures from graphs, each with what it was captured for, and the sizes at hand."""
    plain, half, steps = captured.pop(ASKED), captured.pop(HALF, {}), captured.pop(STEPS, {})
    if asked.dtype == NARROW:
        plain = {batch: replace(graph, dtype=NARROW) for batch, graph in plain.items()}
    grown, unsized = growths(next(iter(plain.values())), captured, reasons, sizes, asked.weights[0])
    graphs = {(batch, fmt): stored(graph, fmt) for batch, graph in plain.items() for fmt in asked.weights}
    larger = {size // (sizes["batch"] or 1): graph for size, graph in captured.get("batch", {}).items() if size}
    sources = sources_of(asked, graphs, larger, {times: graph for times, graph in half.items() if times})
    return Captures(next(iter(plain.values())), graphs, grown, unsized, sizes["kept"], replace(sources, steps=steps))


def sources_of(asked: Any, graphs: Mapping[Any, Graph], larger: Mapping[int, Graph], half: Mapping[int, Graph]) -> Sources:
    """What a changed program is made from. `larger`, `half`: by how many times the batch at hand, with the weights as they are."""
    first = next(iter(graphs.values()))
    more = {times: stored(replace(graph, dtype=first.dtype), asked.weights[0]) for times, graph in larger.items()}
    return Sources(first, more, {} if asked.weights[0] != OWN else half)


def file_of(target: str) -> str:
    """`model.py` of `model.py:net`; `hf:LlamaConfig` as it is."""
    return target if target.startswith("hf:") else target.rpartition(":")[0] or target


def stored(graph: Graph, fmt: str) -> Graph:
    return graph if fmt == OWN else quantised(graph, fmt)


def growths(
    graph: Graph, captured: Mapping[str, Mapping[int | None, Graph]], reasons: Mapping[str, str], sizes: Mapping[str, Any], weights: str
) -> tuple[tuple[Growth, ...], tuple[str, ...]]:
    """How memory grows with the batch and, for a model of transformers that takes tokens, with the sequence."""
    grown: list[Growth] = []
    unsized: list[str] = []
    for what in ("batch", "tokens"):
        now = sizes[what]
        if now is None:
            continue
        first = GROWN[what][0] * now
        try:
            if what in reasons:
                raise BadValue(reasons[what])
            graphs = {now: graph, **{n: g for n, g in captured[what].items() if n is not None}}
            curve = growth(what, {n: stored(g, weights) for n, g in graphs.items()}, sizes["positions"] if what == "tokens" else None)
        except IronlawError as error:
            asked = " and ".join(f"{times * now:,}" for times in GROWN[what])
            unsized.append(f"{MOST[what]} is not known, because finding it takes the call at {asked}{UNIT[what]} too ({error})")
            continue
        if curve is None:
            unsized.append(f"{MOST[what]} is not known, because other operators run at {first:,}{UNIT[what]}")
        else:
            grown.append(curve)
    return tuple(grown), tuple(unsized)


@contextmanager
def operator_count() -> Iterator[Any]:
    """A count of ops on a terminal, wiped when it is done."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(count: int) -> None:
        print(f"\rcapturing: {count:,} operators", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def read_setting(text: str | tuple[str, Any]) -> tuple[str, Any]:
    """`num_hidden_layers=4` -> a name and a value."""
    if isinstance(text, tuple):
        return text
    key, equals, value = text.partition("=")
    if not key.isidentifier() or not equals:
        raise BadValue(f"{text!r} is not a setting; write KEY=VALUE, such as num_hidden_layers=4")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return key, value


def read_settings(given: Any) -> tuple[tuple[str, Any], ...]:
    """Several of them, or a mapping."""
    several = given.items() if isinstance(given, Mapping) else [given] if isinstance(given, str) else given
    return tuple(read_setting(one) for one in several)
