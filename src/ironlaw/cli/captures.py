"""What `ironlaw analyze` captures: the call itself, at each batch and with each storage of weights, and at a few more sizes from
which the largest that fits is computed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.stored_weights import quantised
from ironlaw.engine.device.types import Graph
from ironlaw.errors import IronlawError
from ironlaw.report.capacity import Growth, growth
from ironlaw.report.model_variants import OWN

if TYPE_CHECKING:
    from ironlaw.tracing.load import Target


@dataclass(frozen=True)
class Captures:
    """The first of `graphs` is what the report is about. `unsized`: why the largest batch or length is not known."""

    own: Graph  # with the weights as they are
    graphs: dict[tuple[int | None, str], Graph]  # (batch, storage of weights) -> graph
    growths: tuple[Growth, ...]
    unsized: tuple[str, ...]

    @property
    def main(self) -> Graph:
        return next(iter(self.graphs.values()))


def capture_all(args: argparse.Namespace) -> Captures:
    from ironlaw.tracing.load import load
    from ironlaw.tracing.resize import batch_of, resized

    batches = args.batch or (None,)
    target = load(args.target, args.input, batches[0], args.dtype, args.seq, dict(args.set))
    with operator_count() as progress:
        plain = {batches[0] or batch_of(target): one(target, args, progress)}
        for batch in batches[1:]:
            plain[batch] = one(resized(target, batch), args, progress)
        grown, unsized = growths(target, args, next(iter(plain.items())), progress)
    graphs = {(batch, fmt): stored(graph, fmt) for batch, graph in plain.items() for fmt in args.weights}
    return Captures(next(iter(plain.values())), graphs, grown, unsized)


def one(target: Target, args: argparse.Namespace, progress: Any) -> Graph:
    from ironlaw.tracing.capture import capture

    return capture(target.call, target.args, target.kwargs, training=args.training, progress=progress)


def stored(graph: Graph, fmt: str) -> Graph:
    return graph if fmt == OWN else quantised(graph, fmt)


def growths(
    target: Target, args: argparse.Namespace, first: tuple[int | None, Graph], progress: Any
) -> tuple[tuple[Growth, ...], tuple[str, ...]]:
    """How memory grows with the batch and, for a model of transformers that takes tokens, with the sequence."""
    from ironlaw.tracing.resize import positions_of, resized, tokens_of

    batch, graph = first
    grown: list[Growth] = []
    unsized: list[str] = []

    def grow(what: str, now: int, sizes: tuple[int, ...], limit: int | None = None) -> None:
        try:
            other = {n: one(resized(target, **{what: n}), args, progress) for n in sizes}
            curve = growth(what, {n: stored(g, args.weights[0]) for n, g in ({now: graph} | other).items()}, limit)
        except IronlawError as error:
            unsized.append(f"the largest {what} is not known, since the call can't be captured at {sizes[0]:,}: {error}")
            return
        if curve is None:
            unsized.append(f"the largest {what} is not known, since other operators run at {sizes[0]:,}")
        else:
            grown.append(curve)

    if batch is not None:
        grow("batch", batch, (2 * batch,))
    tokens = tokens_of(target) if args.target.startswith("hf:") else None
    if tokens is not None:
        grow("tokens", tokens, (2 * tokens, 3 * tokens), positions_of(target))
    return tuple(grown), tuple(unsized)


@contextmanager
def operator_count() -> Iterator[Any]:
    """A count of ops on a terminal, wiped when it is done."""
    if not sys.stderr.isatty():
        yield None
        return
    seen = 0

    def show(count: int) -> None:
        nonlocal seen
        seen += 1
        if seen % 50 == 0:
            print(f"\rcapturing: {seen:,} operators", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
