"""Graphs that `ironlaw predict` and `analyze` build without PyTorch: a workload of the registry, or a decoder by its config.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ironlaw.engine.device.deployment import last_logits
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.config_files import config_file, is_hub_id
from ironlaw.registry.decoders import UnknownType, decoder, forward, is_place
from ironlaw.registry.loader import normal
from ironlaw.registry.workloads import about, kv_cache, workloads
from ironlaw.systems.captures import Captures, growths, sources_of, stored
from ironlaw.systems.launched_workloads import as_launched, workload
from ironlaw.tracing.capture_job import GROWN

IDLE = ("input", "set", "training")  # of `analyze`, for models that are captured


def model(name: str) -> Callable[..., Graph]:
    """A workload of the registry, or a decoder by the config.json in a folder: from settings to a graph."""
    return (lambda **settings: as_launched(forward(decoder(name), **settings))) if is_place(name) else partial(workload, name)


def is_ours(target: str) -> bool:
    """Whether a target of `analyze` is built here: the registry's, or a Llama by its config.json; any other config.json is captured."""
    if target.startswith("hf:") or ":" in target:
        return False
    return normal(target) in workloads() or (is_folder(target) and _is_llama(target))


def _is_llama(target: str) -> bool:
    try:
        return not decoder(target).blocks
    except UnknownType:
        return False


def as_captured(target: str) -> str:
    """A folder with the config.json of a model that is not built here is a model of transformers; so is a hub's id in the local cache."""
    if not is_folder(target) or is_ours(target):
        return target
    return f"hf:{config_file(Path(target)) if is_hub_id(target) else target}"


def is_folder(target: str) -> bool:
    return Path(target).is_dir() or Path(target).name == "config.json" or is_hub_id(target)


def build_all(asked: Any, phases: Mapping[str, int]) -> dict[str, Captures]:
    """For each phase, or the one pass: what `captures.capture_all` gives for a captured model."""
    for name in IDLE:
        if getattr(asked, name):
            raise BadValue(f"{asked.target} is built from the registry and takes no `{name}`; give FILE.py:NAME or hf:CONFIG for that")
    build = model(asked.target)
    return {name: _phase(asked, build, name, phases.get(name)) for name in phases or ("",)}


def _phase(asked: Any, build: Callable[..., Graph], phase: str, tokens: int | None) -> Captures:
    length = "context" if phase == "decode" else "seq"
    fixed: dict[str, Any] = {"dtype": asked.dtype, "seq": asked.seq, **({"phase": phase, length: tokens} if phase else {})}
    fixed = {key: value for key, value in fixed.items() if value is not None}

    def one(**sizes: Any) -> Graph:
        graph = build(**fixed | sizes)
        return last_logits(graph) if phase == "prefill" else graph

    plain = {n: one(batch=n) for n in asked.batch} if asked.batch else {None: one()}
    first = next(iter(plain.values()))
    sizes: dict[str, Any] = {"batch": first.settings.get("batch"), "tokens": None if phase == "decode" else first.settings.get("seq")}
    grown: dict[str, dict[int | None, Graph]] = {}
    reasons: dict[str, str] = {}
    for what, now in sizes.items():
        for size in [times * now for times in GROWN[what]] if now else ():
            try:
                grown.setdefault(what, {})[size] = one(**{"batch": first.settings.get("batch"), "seq" if what == "tokens" else what: size})
            except IronlawError as error:
                reasons.setdefault(what, str(error))
    curves, unsized = growths(first, grown, reasons, sizes | {"positions": None}, asked.weights[0])
    graphs = {(n or sizes["batch"], fmt): stored(graph, fmt) for n, graph in plain.items() for fmt in asked.weights}
    kept = _kept(asked.target, tokens, first.dtype) if tokens is not None else None
    larger = {size // sizes["batch"]: graph for size, graph in grown.get("batch", {}).items() if size}
    half = {times: one(batch=times * (sizes["batch"] or 1), dtype="fp16") for times in (1, *larger)} if first.dtype == "fp32" else {}
    return Captures(first, graphs, curves, unsized, kept, sources_of(asked, graphs, larger, half))


def _kept(target: str, tokens: int, dtype: str) -> float:
    """Bytes of keys and values of one sequence."""
    if is_place(target) or "kv_heads" in about(target)["params"]:
        return decoder(target).cache(dtype).token_bytes * tokens
    return float(kv_cache(target, 1, tokens, dtype))


def stored_format(target: str) -> str:
    """The format in which a quantised checkpoint stores its layers, as a target's config.json says; empty where it is not quantised."""
    name = target.removeprefix("hf:")
    if not is_folder(name):
        return ""
    try:
        return decoder(name).stored
    except BadValue:
        return ""
