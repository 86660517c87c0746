"""Decoders that can be served: a model of the registry, or a folder with the config.json of one of transformers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.decoders.parts import Block, Experts, Product, Scores
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.types import Graph, bytes_per_element
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.layout import Layout, sums
from ironlaw.engine.serving.llm.step_times import Reduce, StepTable, step_table
from ironlaw.errors import BadValue, unknown
from ironlaw.registry.config_files import config_of, is_hub_id, model_name
from ironlaw.registry.decoder_types.config_blocks import known, language_part, read
from ironlaw.registry.decoder_types.quantised_configs import quantised
from ironlaw.registry.decoder_types.traits import TRAITS
from ironlaw.registry.families import FAMILIES as FORWARD
from ironlaw.registry.families.block_step import kind_counts
from ironlaw.registry.families.served import step
from ironlaw.registry.loader import normal
from ironlaw.registry.model_files import names_only
from ironlaw.registry.workloads import about, workloads

FAMILIES = ("llama", "moe")
SETTINGS = ("batch", "seq", "context", "phase", "dtype")
BIASED = ("qwen2",)  # of transformers' model types: those whose q, k and v have biases
NORMED = ("qwen3",)  # those whose q and k are normalised
KIN = ("llama", "mistral", "mixtral", *BIASED, *NORMED)  # Llamas by their sizes, whose forward pass is built here


class UnknownType(BadValue):
    """A model_type that can't be read from its config.json; `transformers` may know it."""


PATHS = ("./", "../", "/", "~")  # what begins like this is a place, whether or not anything is there


def is_place(name: str) -> bool:
    """Whether a model is given by its config.json, and not by a slug."""
    if names_only() or name in workloads():
        return False
    place = name.removeprefix("hf:")
    if name.startswith(("hf:", *PATHS)) or Path(place).name == "config.json" or (os.path.isdir(place) and normal(name) not in workloads()):
        return True
    return is_hub_id(name) and normal(name) not in workloads()


def decoder(name: str) -> Decoder:
    """`decoder("llama3_8b")`, `decoder("hf:./folder")`, `decoder("./folder/config.json")`."""
    if is_place(name):
        place = Path(name.removeprefix("hf:")).expanduser()
        if name.startswith(PATHS) and not place.exists():
            raise BadValue(f"there is no {name}; give a folder with the config.json of a transformers model", "model")
        return from_config(place)
    return _registered(name)


@cache
def _registered(name: str) -> Decoder:
    if normal(name) not in workloads():
        known = [slug for slug in workloads() if about(slug)["family"] in FAMILIES]
        raise unknown(
            "decoder", name, known, "give a folder with its config.json, or its id on the hub where it is in the local cache", "model"
        )
    data = about(name)
    if data["family"] not in FAMILIES:
        able = [slug for slug in workloads() if about(slug)["family"] in FAMILIES]
        raise BadValue(f"{name} can't be served token by token; take a decoder: {', '.join(able)}, or a folder with its config.json")
    return Decoder(name, **data["params"])


def from_config(place: Path) -> Decoder:
    file, config = config_of(place)
    return described(config, file)


def described(config: Mapping[str, Any], file: Path) -> Decoder:
    """A decoder by its config.json: any model_type that `decoder_types` knows."""
    part = language_part(config)
    kind = part.get("model_type")
    if kind is None:
        raise BadValue(f"{file} has no model_type; give the config.json of a transformers model, with all that it has")
    if not known(kind):
        raise UnknownType(
            f"{file} is of model_type {kind!r}, which can't be read from a config.json yet; capture it with `ironlaw analyze` (which needs"
            f" PyTorch and transformers), or ask about {_some_types()}",
            "model",
        )
    values, blocks, before, after = read(config, str(file))
    scores = next((p for block in blocks for p in block if isinstance(p, Scores)), None)
    mixed = next((p for block in blocks for p in block if isinstance(p, Experts)), None)
    width = values.size("word_embed_proj_dim", 0)
    sizes: dict[str, Any] = {
        "vocab": values["vocab"], "layers": len(blocks), "hidden": values["hidden"], "heads": scores.heads if scores else 1,
        "kv_heads": scores.kv_heads if scores else 1, "head_dim": scores.key if scores else 1,
        "ffn": values.size("ffn", 0) or 4 * values["hidden"], "tied": TRAITS[values.kind].ties and bool(values.get("tie_word_embeddings")),
        "experts": mixed.count if mixed else 0, "top_k": mixed.active if mixed else 0, "positions": values.size("positions", 0),
        **quantised(part, bool(mixed)),
    }  # fmt: skip
    name = model_name(file)
    if _is_plain(str(kind), blocks):
        return Decoder(name, **sizes, qkv_bias=kind in BIASED, qk_norm=kind in NORMED)
    return Decoder(name, **sizes, blocks=blocks, before=before, after=after, embedding=width if width != values["hidden"] else 0)


def _is_plain(kind: str, blocks: tuple[Block, ...]) -> bool:
    """Whether it is a Llama by its sizes alone: full attention everywhere, and no biases but Qwen2's."""
    if kind not in KIN or len(set(blocks)) > 1:
        return False
    biased = {part.name for part in blocks[0] if isinstance(part, Product) and part.bias}
    return not any(isinstance(part, Scores) and part.window for part in blocks[0]) and biased <= ({"qkv_proj"} if kind in BIASED else set())


def _some_types() -> str:
    usual = ("llama", "qwen3_moe", "deepseek_v3", "gpt_oss", "gemma3", "mistral", "jamba")
    return f"one of {len(TRAITS)} types such as {', '.join(usual)}"


def model_type(place: Path) -> str | None:
    """The model_type in a folder's config.json."""
    kind = config_of(place)[1].get("model_type")
    return None if kind is None else str(kind)


def forward(model: Decoder, **settings: Any) -> Graph:
    """The model's forward pass as transformers runs it: batch, seq, context, phase, dtype, as `workload` takes them."""
    if model.blocks:
        raise BadValue(
            f"{model.name} is not a Llama by its sizes, so its forward pass is captured: give it to `ironlaw analyze`, with PyTorch"
        )
    params = {field.name: getattr(model, field.name) for field in fields(model)}
    name, experts = params.pop("name"), params["experts"]
    taken = inspect.signature(FORWARD["moe" if experts else "llama"]).parameters
    for key in settings:
        if key not in SETTINGS:
            raise BadValue(f"{name} takes no {key!r}; it takes {', '.join(SETTINGS)}", key)
    graph: Graph = FORWARD["moe" if experts else "llama"](**{key: value for key, value in params.items() if key in taken}, **settings)
    return Graph(name, graph.ops, graph.dtype, graph.settings, graph.outputs)


def weight_bytes(model: Decoder, dtype: str = "bf16", weights: str = "") -> float:
    """The bytes of all parameters; products' matrices and the embedding in `weights`, where that is another format.

    A quantised checkpoint has its own format for the layers' matrices alone.
    """
    wide = bytes_per_element(dtype)
    narrow = bytes_per_element(weights or dtype)
    if weights and weights == model.stored:
        return model.narrow_matrices * narrow + (model.parameters - model.narrow_matrices) * wide
    matrices = model.matrices + model.words
    return matrices * narrow + (model.parameters - matrices) * wide


def steps(
    model: Decoder, hardware: Hardware, plan: Plan, *, dtype: str = "bf16", weights: str = "", cache: str = "", devices: int = 1,
    reduce: Reduce | None = None, reductions: float = 0.0, overhead: float = 0.0, products: str = "", coarse: bool = False,
) -> StepTable:  # fmt: skip
    """The table of a model's steps on `devices` of a kind that share it by tensor parallelism; `reduce` is then what adding up takes.

    `reductions` of a step, where they are not two for each layer. `coarse`: fewer points, sooner there.
    """
    share = model.shard(devices)
    if devices > 1 and reduce is None:
        raise BadValue(f"{devices} devices need an all-reduce after every part of a layer; say how long one takes (reduce)", "reduce")

    def build(batch: int, context: int, chunk: int, past: int, layers: int) -> Graph:
        return step(
            share, batch=batch, context=context, chunk=chunk, past=past, dtype=dtype, weights=weights, cache=cache, layers=layers,
            products=products,
        )  # fmt: skip

    width = model.hidden * bytes_per_element(dtype)
    counts = kind_counts(share) if share.blocks else ()
    return step_table(
        build, model.layers, hardware, plan, reduce=reduce, width=width, overhead=overhead, coarse=coarse, counts=counts,
        reductions=reductions or sums(model, Layout(devices)),
    )  # fmt: skip
