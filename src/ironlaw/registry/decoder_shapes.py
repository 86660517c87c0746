"""The sizes of a decoder that is trained, by name: a workload of the registry, or a model of a published run."""

from __future__ import annotations

from functools import cache, lru_cache

from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.decoders.mixes import mix
from ironlaw.engine.decoders.parts import Experts, Gate, Vector, parameters
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.errors import BadValue, unknown
from ironlaw.registry.decoders import decoder as configured
from ironlaw.registry.decoders import is_place
from ironlaw.registry.loader import normal, slugs
from ironlaw.registry.runs import published_shapes
from ironlaw.registry.workloads import about

GATED = ("llama", "moe")
FAMILIES = (*GATED, "gpt2")


def decoder(name: str) -> Shape:
    """`decoder("llama3_70b")`, `decoder("gpt3_175b")`, `decoder("./folder")` with a config.json, `decoder("org/name")` in the cache."""
    return shape_of(configured(name)) if is_place(name) else _named(name)


@lru_cache(maxsize=32)
def shape_of(model: Decoder) -> Shape:
    """A served decoder's sizes as training spreads them; a quantised checkpoint trains unquantised."""
    if not model.blocks:
        return Shape(
            model.name, model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim, model.ffn, model.vocab, True, model.tied,
            0, model.experts, model.top_k or 1, model.qkv_bias, qk_norm=model.qk_norm,
        )  # fmt: skip
    first = next((part for block in model.blocks for part in block if isinstance(part, Experts)), None)
    width = next((part.width for block in model.blocks for part in block if isinstance(part, Gate)), 0) or (
        first.ffn if first else model.ffn
    )
    learned = sum(part.parameters for part in model.before if isinstance(part, Vector))
    outside = parameters((*model.before, *model.after)) - learned
    return Shape(
        model.name, model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim, width, model.vocab, True, model.tied,
        learned // model.hidden, model.experts, model.top_k or 1, False, blocks=mix(model.blocks), outside=outside,
    )  # fmt: skip


@cache
def _named(name: str) -> Shape:
    slug = normal(name)
    if slug in published_shapes():
        return published_shapes()[slug]
    if slug not in slugs("workload"):
        raise unknown(
            "decoder",
            name,
            decoders(),
            f"registry/workload/{slug}.toml with a family and its parameters, or give a folder with its config.json",
            field="model",
        )
    data = about(slug)
    if not _spreads(slug):
        raise BadValue(
            f"{slug} is of the family {data['family']}, not a decoder with layers to spread; try {', '.join(decoders()[:4])}", "model"
        )
    given = data["params"]
    gated = data["family"] in GATED
    return Shape(
        slug, given["layers"], given["hidden"], given["heads"], given.get("kv_heads", given["heads"]),
        given.get("head_dim", given["hidden"] // given["heads"]), given["ffn"], given["vocab"], gated, given.get("tied", not gated),
        given.get("max_positions", 0), given.get("experts", 0), given.get("top_k", 1), given.get("qkv_bias", False),
    )  # fmt: skip


@cache
def decoders() -> tuple[str, ...]:
    """Every name that `decoder` takes."""
    return tuple(sorted({*published_shapes(), *filter(_spreads, slugs("workload"))}))


def _spreads(slug: str) -> bool:
    """Whether a workload is a whole decoder."""
    data = about(slug)
    return data["family"] in FAMILIES and not data["params"].get("bare")
