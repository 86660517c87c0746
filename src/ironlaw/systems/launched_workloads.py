"""A workload of the registry as PyTorch runs it in a program: launched by the same server before every GPU, beside its libraries.

The labs ask the registry itself: there the host that a machine was measured with is a part of the lesson.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.formats import spelled
from ironlaw.registry import workloads as registered


def as_launched(graph: Graph) -> Graph:
    """Like a model that was captured."""
    return replace(graph, settings={**graph.settings, "captured": True})


def sizes(graph: Graph) -> dict[str, Any]:
    """The settings that somebody chose."""
    return {name: value for name, value in graph.settings.items() if name != "captured"}


def workload(name: str, **settings: Any) -> Graph:
    """A model of the registry by name, with its sizes: batch, seq, dtype, phase, context, classes."""
    for key in registered.SIZES:
        size = settings.get(key)
        if isinstance(size, float) and not size.is_integer():
            raise BadValue(f"workload {name}: {key} is {size:g}, which is not whole; give a whole number", key)
    if "dtype" in settings:  # PyTorch's dtypes and their names, too
        settings["dtype"] = spelled(str(settings["dtype"]))
    graph = registered.workload(name, **settings)
    if settings.get("context") is not None and "phase" not in settings and graph.settings.get("phase") == "prefill":
        raise BadValue(
            f"workload {name}: `context` is how many tokens the cache holds; add phase='decode' for a step after them, or leave it out"
        )
    return as_launched(graph)
