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

# phase, a setting that means nothing in it, and what to write
IDLE = (
    ("prefill", "context", "a prompt begins with an empty cache, so `context` means nothing; add phase='decode' or leave it out"),
    ("decode", "seq", "decoding makes one token, so `seq` means nothing; give `context`, the tokens in the cache, instead"),
)


def as_launched(graph: Graph) -> Graph:
    """Like a model that was captured."""
    return replace(graph, settings={**graph.settings, "captured": True})


def sizes(graph: Graph) -> dict[str, Any]:
    """The settings that somebody chose."""
    return {name: value for name, value in graph.settings.items() if name != "captured"}


def workload(name: str, **settings: Any) -> Graph:
    """A model of the registry by name, with its sizes: batch, seq, dtype, phase, context, classes."""
    graph = launched(name, **settings)
    for phase, key, why in IDLE:
        if settings.get(key) is not None and graph.settings.get("phase") == phase:
            raise BadValue(f"workload {name}: {why}", key)
    return graph


def launched(name: str, **settings: Any) -> Graph:
    """The same for a page, whose dials are all set, also one that means nothing in this phase."""
    for key in registered.SIZES:
        size = settings.get(key)
        if isinstance(size, bool) or (isinstance(size, float) and not size.is_integer()):
            raise BadValue(f"workload {name}: {key} is {size}, which is not whole; give a whole number, such as 8", key)
    if "dtype" in settings:  # PyTorch's dtypes and their names, too
        settings["dtype"] = spelled(str(settings["dtype"]))
    return as_launched(registered.workload(name, **settings))
