"""Decoders that can be served: a model of the registry, or a folder with the config.json of one of transformers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.types import Graph, bytes_per_element
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.step_times import Reduce, StepTable, step_table
from ironlaw.errors import BadValue
from ironlaw.registry.families import FAMILIES as FORWARD
from ironlaw.registry.families.served import step
from ironlaw.registry.loader import normal
from ironlaw.registry.workloads import about, workloads

FAMILIES = ("llama", "moe")
SETTINGS = ("batch", "seq", "context", "phase", "dtype")
BIASED = ("qwen2",)  # of transformers' model types: those whose q, k and v have biases
NORMED = ("qwen3",)  # those whose q and k are normalised
KIN = ("llama", "mistral", "mixtral", *BIASED, *NORMED)
FIELDS = {
    "vocab": "vocab_size", "layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads",
    "ffn": "intermediate_size",
}  # fmt: skip


def is_place(name: str) -> bool:
    """Whether a model is given by its config.json, and not by a slug."""
    place = Path(name.removeprefix("hf:"))
    return name.startswith("hf:") or place.name == "config.json" or (place.is_dir() and normal(name) not in workloads())


def decoder(name: str) -> Decoder:
    """`decoder("llama3_8b")`, `decoder("hf:./folder")`, `decoder("./folder/config.json")`."""
    if is_place(name):
        return from_config(Path(name.removeprefix("hf:")))
    data = about(name)
    if data["family"] not in FAMILIES:
        able = [slug for slug in workloads() if about(slug)["family"] in FAMILIES]
        raise BadValue(f"{name} can't be served token by token; take a decoder: {', '.join(able)}, or a folder with its config.json")
    return Decoder(name, **data["params"])


def from_config(place: Path) -> Decoder:
    file, config = _config(place)
    if config.get("model_type") not in KIN:
        raise BadValue(f"{file} is of model_type {config.get('model_type')!r}; those that can be served here are {', '.join(KIN)}")
    return Decoder(file.parent.name or "model", **_sizes(config, file))


def model_type(place: Path) -> str | None:
    """As a folder's config.json says it."""
    return _config(place)[1].get("model_type")


def _config(place: Path) -> tuple[Path, Mapping[str, Any]]:
    file = place / "config.json" if place.is_dir() or place.suffix != ".json" else place
    try:
        config = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise BadValue(f"there is no {file}; give a folder with the config.json of a model of transformers") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise BadValue(f"{file} is not JSON ({error}); give the config.json of a model of transformers") from None
    return file, config if isinstance(config, Mapping) else {}


def _sizes(config: Mapping[str, Any], file: Path) -> dict[str, Any]:
    missing = [field for field in FIELDS.values() if field not in config]
    if missing:
        raise BadValue(f"{file} has no {', '.join(missing)}; give the whole config.json")
    sizes: dict[str, Any] = {ours: config[theirs] for ours, theirs in FIELDS.items()}
    for ours, theirs in FIELDS.items():
        if isinstance(sizes[ours], bool) or not isinstance(sizes[ours], int) or sizes[ours] < 1:
            raise BadValue(f"{file}: {theirs} is {sizes[ours]!r}; give a whole number of at least 1")
    sizes["kv_heads"] = config.get("num_key_value_heads") or sizes["heads"]
    sizes["head_dim"] = config.get("head_dim") or sizes["hidden"] // sizes["heads"]
    sizes["tied"], sizes["qkv_bias"] = bool(config.get("tie_word_embeddings", False)), config["model_type"] in BIASED
    sizes["qk_norm"] = config["model_type"] in NORMED
    if config["model_type"] == "mixtral":
        sizes |= {"experts": config.get("num_local_experts", 8), "top_k": config.get("num_experts_per_tok", 2)}
    return sizes


def forward(model: Decoder, **settings: Any) -> Graph:
    """Its forward pass as transformers runs it: batch, seq, context, phase, dtype, as `workload` takes them."""
    params = {field.name: getattr(model, field.name) for field in fields(model)}
    name, experts = params.pop("name"), params["experts"]
    taken = inspect.signature(FORWARD["moe" if experts else "llama"]).parameters
    for key in settings:
        if key not in SETTINGS:
            raise BadValue(f"{name} takes no {key!r}; it takes {', '.join(SETTINGS)}", key)
    graph: Graph = FORWARD["moe" if experts else "llama"](**{key: value for key, value in params.items() if key in taken}, **settings)
    return Graph(name, graph.ops, graph.dtype, graph.settings, graph.outputs)


def weight_bytes(model: Decoder, dtype: str = "bf16", weights: str = "") -> float:
    """Of all parameters; products' matrices and the embedding in `weights`, where that is another format."""
    wide = bytes_per_element(dtype)
    narrow = bytes_per_element(weights or dtype)
    matrices = model.matrices + model.vocab * model.hidden
    return matrices * narrow + (model.parameters - matrices) * wide


def steps(
    model: Decoder, hardware: Hardware, plan: Plan, *, dtype: str = "bf16", weights: str = "", cache: str = "", devices: int = 1,
    reduce: Reduce | None = None, overhead: float = 0.0, products: str = "", coarse: bool = False,
) -> StepTable:  # fmt: skip
    """The table of a model's steps on `devices` of a kind that share it by tensor parallelism; `reduce` is then what adding up takes.

    `coarse`: fewer points, sooner there.
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
    return step_table(build, model.layers, hardware, plan, reduce=reduce, width=width, overhead=overhead, coarse=coarse)
