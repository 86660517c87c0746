"""The dials of Act II: how each is called and shown, and the design that they stand at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.systems.whole import Design, halls
from ironlaw.systems.whole.design import ASYNC, HOST, NEIGHBOUR, NONE, SYNC
from ironlaw.systems.whole.search import DIALS
from ironlaw.units import show

LABELS = {
    "gpus": "GPUs that train", "tensor": "Tensor parallelism over", "pipeline": "Pipeline stages", "context": "Context parallelism over",
    "virtual": "Pieces of a stage", "recompute": "Recomputed", "zero": "ZeRO stage", "nics": "NICs of a box", "thin": "Spine, one to",
    "scattered": "Nodes out of place", "saving": "A far save stops the job", "near": "Near copies in", "near_every": "Near copies every",
    "far_every": "Far saves every", "group": "GPUs of a replica", "replicas": "Replicas for the load", "spares": "Spare replicas",
    "most": "Requests at once, at most", "budget": "Tokens a step, at most", "weights": "Weights served in", "cache": "Cache in",
    "hedge": "A copy of a request after", "retries": "Retries", "hall": "Where", "noise": "Noise of the fine-tuning",
}  # fmt: skip
WORDS: Mapping[str, Mapping[Any, str]] = {
    "recompute": {"none": "nothing", "full": "all of a layer"}, "saving": {SYNC: "until stored", ASYNC: "until in host memory"},
    "near": {NONE: "nowhere", HOST: "host memory", NEIGHBOUR: "a neighbour's too"}, "weights": {"bf16": "BF16", "fp8": "FP8"},
    "cache": {"bf16": "BF16", "fp8": "FP8"}, "hedge": {1.0: "never"}, "noise": {0.0: "none"}, "scattered": {0.0: "none"},
}  # fmt: skip
SECONDS = ("near_every", "far_every")
PERCENT = ("scattered",)


def said(dial: str, value: Any) -> str:
    """A value as its dial shows it."""
    if dial == "hall":
        return halls()[value].name
    word = WORDS.get(dial, {}).get(value)
    if word is not None:
        return word
    if dial in SECONDS:
        return show(float(value), "s")
    if dial == "hedge":
        return f"P{100 * value:g}"
    if dial in PERCENT:
        return f"{100 * value:g} %"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def dials(start: Design, near: str) -> list[Any]:
    """A menu each; intervals of near copies only where there are any."""
    return [
        kit.select(
            dial, label, [(_plain(value), said(dial, value)) for value in DIALS[dial]], _plain(getattr(start, dial)),
            hidden=dial == "near_every" and near == NONE,
        )
        for dial, label in LABELS.items()
    ]  # fmt: skip


def design_of(values: Mapping[str, Any]) -> Design:
    """Numbers come back from a browser as it likes to write them: each is the stop that it equals."""
    stops = {dial: next(stop for stop in DIALS[dial] if _plain(stop) == _plain(values[dial])) for dial in LABELS}
    return Design(**stops)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, (int, float)) else value


def turn(dial: str, value: Any) -> str:
    """`Spine, one to 2`, for sentences that say what to turn."""
    return f"{LABELS[dial]}: {said(dial, value)}"


def setting(turns: Mapping[str, Any], label: str) -> str:
    """Markdown of a button that turns dials."""
    where = "&".join(f"{dial}={value:g}" if isinstance(value, (int, float)) else f"{dial}={value}" for dial, value in turns.items())
    return f"[{label}](set:act2?{where})"
