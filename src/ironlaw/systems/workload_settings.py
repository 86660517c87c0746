"""What is asked of a model, whoever asks: the sizes it takes, its phase, in what products are computed, who launches.

`asked` has the command line's names: batch, seq, context, phase, dtype, classes, prefill, decode, strict_fp32, tf32, host and launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue


def launching(asked: Any) -> dict[str, Any]:
    """A plan's `host` and `launch`, from those two options."""
    return {"host": asked.host, "launch": asked.launch}


def fp32(asked: Any) -> str:
    """A plan's `fp32`, from those two options and from a `dtype` of tf32."""
    if asked.strict_fp32 and asked.dtype == "tf32":
        raise BadValue("`strict_fp32` and `dtype=tf32` contradict each other; leave one of them out")
    return "strict" if asked.strict_fp32 else "tf32" if asked.tf32 or asked.dtype == "tf32" else "default"


def by_batch(chosen: dict[str, Any], build: Callable[..., Graph]) -> dict[int | None, Graph]:
    """The graph at each batch that was asked for, or at the model's own; `chosen` are the settings."""
    others = {name: value for name, value in chosen.items() if name != "batch"}
    return {n: build(**others, **({} if n is None else {"batch": n})) for n in chosen.get("batch", (None,))}


def settings(asked: Any) -> dict[str, Any]:
    """The settings that the user gave."""
    names = ("batch", "seq", "context", "phase", "dtype", "classes")
    chosen = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None}
    if asked.prefill is not None and asked.decode:
        raise BadValue("`prefill` and `decode` are two phases; ask for one at a time")
    if asked.prefill is not None or asked.decode:
        short = {"phase": "prefill", "seq": asked.prefill} if asked.prefill is not None else {"phase": "decode"}
        twice = [name for name in short if name in chosen]
        if twice:
            raise BadValue(f"`{'decode' if asked.decode else 'prefill'}` and `{twice[0]}` say the same thing; leave one of them out")
        chosen |= short
    return chosen
