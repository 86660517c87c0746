"""What a worker does for `ironlaw analyze`: the call captured at each batch, then at the sizes from which the largest that fits follows.

Each graph is sent as soon as it is there, so that the parent reads one while the next is captured. A size that can't be captured
is sent as the reason.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from ironlaw.engine.advice.action_names import AGAIN, TOGETHER
from ironlaw.engine.device.types import Graph
from ironlaw.errors import IronlawError
from ironlaw.tracing.capture import captured
from ironlaw.tracing.decoding import DECODE, PREFILL, kept_bytes
from ironlaw.tracing.graph_json import to_json
from ironlaw.tracing.load_target import fitted, load
from ironlaw.tracing.rehearsal import Rehearsal
from ironlaw.tracing.resize import batch_of, positions_of, resized, tokens_of
from ironlaw.tracing.step_choices import steps
from ironlaw.tracing.suggest import asking
from ironlaw.tracing.target import Target
from ironlaw.worker.json_values import Json, decode

SELDOM = 200_000, 20, 100  # what a capture makes mostly stays: the collector, left as it is, takes a fifth of the time to look through it
EVERY = 50  # ops between two reports of progress
ASKED = "asked"  # a graph at a batch that the user asked for; the others are named by what grows
STEPS = "steps"  # the training step after changes of it
HALF = "half"  # graphs of the same model in FP16, at the batch at hand and grown
GROWN = {"batch": (4,), "tokens": (2, 3)}  # times the size at hand; memory is a line in the batch, at most a parabola in the tokens


def job(request: Json, send: Callable[[Json], None]) -> Json:
    """For each phase (one without a name if none was asked for): the sizes at hand (None where there are none), the longest sequence
    that the model allows, and what a sequence leaves in the cache."""
    gc.set_threshold(*SELDOM)
    return {name: _phase(request, name, tokens, send) for name, tokens in (request["phases"] or {"": None}).items()}


def _phase(request: Json, phase: str, length: int | None, send: Callable[[Json], None]) -> Json:
    batches = request["batch"] or [None]
    target = load(
        request["target"],
        request["input"],
        batches[0],
        request["dtype"],
        request["seq"],
        decode(request["set"]),
        training=request["training"],
        phase=(phase, length) if length is not None else None,
    )
    progress = counter(send) if request["progress"] else None

    own = _adapted(target, request.get("adapters"), progress)
    formats: set[str] = set()
    before, larger = Rehearsal(), dict[int, Graph]()  # the call at so many times the batch, where that was captured for a change

    def of(call: Target, changes: Collection[str] = ()) -> Graph:
        with asking(call):
            return captured(
                call.call, call.args, call.kwargs, training=request["training"], progress=progress, changes={*own, *changes}, before=before
            )

    def changed(times: int, changes: Collection[str]) -> Graph:
        if times == 1:
            return of(target, changes)
        call = resized(target, times * (batch or 1))
        if set(changes) == {TOGETHER} and times in GROWN["batch"]:  # whole, since memory at that batch is asked for as well
            return larger.setdefault(times * (batch or 1), of(call))
        return of(call, changes)

    def one(call: Target) -> Json:
        return told(call, of(call))

    def told(call: Target, graph: Graph) -> Json:
        formats.add(graph.dtype)
        more: dict[str, object] = {"notes": (*call.notes, *graph.settings.get("notes", ()))} if call.notes else {}
        if length is not None:
            more |= {"phase": phase, "batch": batch_of(call), "seq" if phase == PREFILL else "context": length}
        return to_json(replace(graph, settings={**graph.settings, **more}) if more else graph)

    batch = batches[0] or batch_of(target)
    tokens = tokens_of(target) if request["target"].startswith("hf:") and phase != DECODE else None
    main = of(target)
    send({"phase": phase, "what": ASKED, "size": batch, "graph": told(target, main)})
    for changes, graph in steps(main, changed):
        send({"phase": phase, "what": STEPS, "size": None, "changes": sorted(changes), "graph": told(target, graph)})
    for size in batches[1:]:
        send({"phase": phase, "what": ASKED, "size": size, "graph": one(resized(target, size))})
    for what, now in (("batch", batch), ("tokens", tokens)):
        for size in [times * now for times in GROWN[what]] if now is not None else ():
            part: dict[str, Json] = {"phase": phase, "what": what, "size": size}
            try:
                known = larger.get(size) if what == "batch" else None
                part["graph"] = told(target, known) if known is not None else one(resized(target, **{what: size}))
            except IronlawError as error:
                part["reason"] = str(error)
            send(part)
    kept = kept_bytes(target) if length is not None else None
    if formats == {"fp32"} and not request["training"]:
        for part in _halves(target, batch, one):
            send({"phase": phase, **part})
    return {"batch": batch, "tokens": tokens, "positions": positions_of(target), "kept": kept}


def _adapted(target: Target, adapters: Json, progress: Callable[[int], None] | None) -> tuple[str, ...]:
    """Puts adapters into the model where they are asked for (a rank, and whether its weights lie in four bits); gives the changes with
    which each of its steps is captured."""
    if not adapters:
        return ()
    from ironlaw.tracing.adapters import EIGHT_BIT, adapt  # here: it imports torch, and a report without a capture needs none

    rank, quantised = adapters
    with asking(target):
        adapt(target, captured(target.call, target.args, target.kwargs, progress=progress), rank, quantised)
    return (AGAIN, EIGHT_BIT) if quantised else ()


def _halves(target: Target, batch: int | None, one: Callable[[Target], Json]) -> Iterator[dict[str, Json]]:
    """The model in FP16, as a library runs it there; nothing where it can't be turned into that. The model stays so: this comes last."""
    import torch

    if not isinstance(target.call, torch.nn.Module):
        return
    if any(t.is_complex() for t in (*target.call.parameters(), *target.call.buffers())):
        return  # libraries have no kernels for the half of a complex number
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what PyTorch can't do in FP16; then it isn't offered
            target.call.half()
            half = fitted(target, None, "fp16")
            for times in (1, *GROWN["batch"]) if batch is not None else (1,):
                yield {"what": HALF, "size": times, "graph": one(half if times == 1 else resized(half, times * (batch or 1)))}
    except (IronlawError, RuntimeError, TypeError, NotImplementedError):
        return


def counter(send: Callable[[Json], None]) -> Callable[[int], None]:
    seen = 0

    def count(_: int) -> None:
        nonlocal seen
        seen += 1
        if seen % EVERY == 0:
            send({"ops": seen})

    return count
