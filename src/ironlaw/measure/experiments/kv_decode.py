"""A real decoder with a cache and without: the same tokens, what each way computes and moves, and how long it takes.

With its cache a step reads what it has kept; without, it computes all tokens again. So N new tokens take as long as N tokens, or as N².
Operations and bytes are counted in the decoder's own products and are what the engine says of the same model; times are the machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.engine.device.deployment import last_logits, serving
from ironlaw.engine.device.types import Graph
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.tiny_decoder import SIZES, Cache, TinyDecoder
from ironlaw.measure.rows import Draft, case_row, figure_row

CACHED, UNCACHED = "cached", "uncached"
WAYS = {CACHED: "with its cache", UNCACHED: "without"}
CONTEXTS = (32, 128, 512)  # tokens before the one that a step adds
LENGTHS = (16, 32, 64, 128)  # tokens that are generated
PROMPT = [3, 1, 4, 1, 5]
SAME, FLOPS, BYTES, STEP, WHOLE = "same", "flops", "bytes", "step", "generate"
COUNTED = ("linear", "bmm", "copy")  # kinds of ops whose arrays the decoder counts: its products, and what it writes into the cache


def graph(way: str, context: int) -> Graph:
    """The engine's own: one token after `context` cached ones, or all of them again; the scores of attention go through memory."""
    from ironlaw.registry.families import FAMILIES

    phase: dict[str, Any] = {"phase": "decode", "context": context} if way == CACHED else {"phase": "prefill", "seq": context + 1}
    built: Graph = FAMILIES["llama"](**SIZES, tied=False, batch=1, dtype="fp32", **phase)
    return serving(built if way == CACHED else last_logits(built), tiled=False)


def expected(way: str, context: int) -> dict[str, float]:
    """Operations of all products, and bytes that they and the cache touch, as the engine has them."""
    ops = [op for op in graph(way, context).ops if op.kind in COUNTED and not op.attrs.get("sync")]
    return {FLOPS: sum(float(op.work.matmul_flops) for op in ops), BYTES: sum(float(op.work.bytes) for op in ops)}


def rows(bench: Bench) -> Iterator[Draft]:
    model = TinyDecoder()
    cases: list[tuple[str, tuple[str, str, int]]] = [("the same tokens both ways", (SAME, "", LENGTHS[-1]))]
    cases += [(f"a step after {n:,} tokens, {words}", (STEP, way, n)) for n in CONTEXTS for way, words in WAYS.items()]
    cases += [(f"{n} tokens, {words}", (WHOLE, way, n)) for n in LENGTHS for way, words in WAYS.items()]
    for kind, way, n in bench.each(cases):
        if kind == SAME:
            yield _agreement(model, n)
        elif kind == STEP:
            yield from _step(bench, model, way, n)
        else:
            timing = bench.time(_generating(model, n, way), least=2, warmup=1)
            yield case_row(WHOLE, f"{n} tokens, {WAYS[way]}", {"way": way, "tokens": n}, timing.row())


def _agreement(model: TinyDecoder, tokens: int) -> Draft:
    """How many of the new tokens are the same with the cache and without."""
    with_cache, without = (model.generate(PROMPT, tokens, way == CACHED) for way in WAYS)
    alike = sum(a == b for a, b in zip(with_cache, without, strict=True))
    return figure_row(SAME, "tokens that are the same both ways", alike, alike, alike, "", 1, expected=tokens)


def _step(bench: Bench, model: TinyDecoder, way: str, context: int) -> Iterator[Draft]:
    call, cache = step(model, way, context)
    before = model.count.flops, model.count.bytes
    call()
    spent = {FLOPS: model.count.flops - before[0], BYTES: model.count.bytes - before[1]}
    for name, unit in ((FLOPS, "FLOP"), (BYTES, "B")):
        value = float(spent[name])
        about = {"way": way, "context": context, "expected": expected(way, context)[name], "cache_bytes": cache.bytes if cache else 0}
        yield figure_row(name, f"a step after {context:,} tokens, {WAYS[way]}", value, value, value, unit, 1, **about)
    timing = bench.time(call, least=5, warmup=2)
    yield case_row(STEP, f"a step after {context:,} tokens, {WAYS[way]}", {"way": way, "context": context}, timing.row())


def step(model: TinyDecoder, way: str, context: int) -> tuple[Callable[[], Any], Cache | None]:
    """One more token after `context` of them, again and again; and the cache, filled."""
    ids = [(7 * i) % SIZES["vocab"] for i in range(context + 1)]
    if way == UNCACHED:
        return lambda: model.logits(ids), None
    cache = Cache(context + 1)
    model.logits(ids[:-1], cache)

    def one() -> Any:
        cache.length = context  # the step before is forgotten
        return model.logits(ids[-1:], cache)

    return one, cache


def _generating(model: TinyDecoder, tokens: int, way: str) -> Callable[[], Any]:
    return lambda: model.generate(PROMPT, tokens, way == CACHED)
