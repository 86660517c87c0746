"""registry/workload/*.toml -> Graph, for any batch, sequence and precision."""

from __future__ import annotations

import inspect
from functools import cache, lru_cache
from typing import Any

from ironlaw.engine.arrays import Number, plain
from ironlaw.engine.device import memory
from ironlaw.engine.device.types import Graph, bytes_per_element, check_positive
from ironlaw.errors import BadRegistry, BadValue, refusing, unknown
from ironlaw.registry.loader import folder, normal, read, slugs

SIZES = ("batch", "seq", "context", "classes")


def workloads() -> tuple[str, ...]:
    """The slugs of all workloads."""
    return slugs("workload")


@cache
def about(name: str) -> dict[str, Any]:
    """A workload's file: family, source, [params], [defaults], [check]."""
    if normal(name) not in slugs("workload"):
        raise unknown("workload", name, slugs("workload"), f"registry/workload/{normal(name)}.toml with a family and its parameters")
    data = read(folder("workload") / f"{normal(name)}.toml")
    for key in ("family", "name", "source", "date"):
        if not data.get(key):
            raise BadRegistry(f"workload {name}: no {key}; add `{key} = …` to registry/workload/{normal(name)}.toml")
    return data


def workload(name: str, **settings: Any) -> Graph:
    """The graph of a registry model: `workload("gpt2", batch=8, seq=128, dtype="fp16")`.

    Settings: batch, seq, context, phase ("prefill" or "decode"), dtype, classes; those that the model has.
    """
    from ironlaw.registry.families import FAMILIES

    data = about(name)
    if data["family"] not in FAMILIES:
        raise unknown(f"family of workload {name}", data["family"], FAMILIES, "registry/families/")
    build = FAMILIES[data["family"]]
    takes = inspect.signature(build).parameters
    values = {key: value for key, value in (data.get("params", {}) | data.get("defaults", {})).items() if key in takes}
    for key, value in settings.items():
        if value is None:
            continue
        if key not in takes:
            settable = [k for k in (*SIZES, "phase", "dtype") if k in takes]
            raise BadValue(f"workload {name} takes no {key!r}; it takes {', '.join(settable)}", key)
        values[key] = plain(value)
    for key in SIZES:
        if key in settings and settings[key] is not None:
            with refusing(key):
                check_positive(f"workload {name}: {key}", settings[key])
    with refusing("dtype"):
        bytes_per_element(values.get("dtype", "fp16"))
    if all(isinstance(value, (int, float, str)) for value in values.values()):
        return _kept(normal(name), tuple((key, type(value), value) for key, value in sorted(values.items())))
    return _built(normal(name), values)  # a sweep's arrays may change in place


@lru_cache(maxsize=24)  # a lab asks for the same few graphs dozens of times; each takes about 20 ms
def _kept(slug: str, values: tuple[tuple[str, type, Any], ...]) -> Graph:
    return _built(slug, {key: value for key, _, value in values})


def _built(slug: str, values: dict[str, Any]) -> Graph:
    from ironlaw.registry.families import FAMILIES

    graph: Graph = FAMILIES[about(slug)["family"]](**values)
    return Graph(slug, graph.ops, graph.dtype, graph.settings, graph.outputs)


def kv_cache(name: str, batch: Number = 1, context: Number = 1, dtype: str = "fp16") -> Number:
    """Bytes of keys and values that a registry LLM holds for `batch` sequences of `context` tokens."""
    params = about(name).get("params", {})
    missing = [key for key in ("layers", "heads", "hidden") if key not in params]
    if missing:
        raise BadValue(f"workload {name} has no KV cache (no {', '.join(missing)} in its parameters); try llama3_8b or gpt2")
    head_dim = params.get("head_dim", params["hidden"] // params["heads"])
    return memory.kv_cache(params["layers"], params.get("kv_heads", params["heads"]), head_dim, batch, context, dtype)
