"""The picture on the start page: a layer of a language model under the roofline, to be dragged from one token at a time to thousands.

Every place that the point can stand at is computed beforehand, so the page that shows it asks nobody.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ironlaw.engine.device.types import Tensor, Work
from ironlaw.engine.device.work import op
from ironlaw.pictures.roofs import Dot, Roof, roofs
from ironlaw.registry.machines import hardware
from ironlaw.widget.dials import span
from ironlaw.widget.figure import Figure
from ironlaw.widget.hold import hold
from ironlaw.widget.piece import plain, wire
from ironlaw.widget.quantities import share

MACHINE, NAME, FORMAT, WIDTH = "h100_sxm", "NVIDIA H100", "fp16", 4096
TOKENS = tuple(2**power for power in range(13))
ACROSS = (0.5, 4000.0)


@cache
def traits() -> dict[str, Any]:
    """A piece as the widget takes it, with the view of every place under `views`."""
    dial = span("tokens", "Tokens at a time", TOKENS[0], TOKENS[-1], TOKENS[0], log=True, steps=list(TOKENS), whole=True)
    spec = {"id": "roofline", "title": "", "lead": True, "dials": [dial]}
    views = {str(tokens): wire(plain(view(tokens))) for tokens in TOKENS}
    return {"kind": "instrument", "spec": spec, "state": {"dials": {"tokens": TOKENS[0]}}, "view": views[str(TOKENS[0])], "views": views}


def as_json() -> str:
    return json.dumps(traits(), ensure_ascii=False, separators=(",", ":"))


def work(tokens: int) -> Work:
    """One layer: `tokens` tokens times a square matrix of weights."""
    of = (Tensor("tokens", (tokens, WIDTH), FORMAT), Tensor("weights", (WIDTH, WIDTH), FORMAT))
    return op("matmul", "layer", of, (Tensor("out", (tokens, WIDTH), FORMAT),)).work


def view(tokens: int) -> dict[str, Any]:
    return {"figures": [_picture(tokens)], "note": f"<p>{_sentence(tokens)}</p>"}


def _roof() -> Roof:
    return Roof(hardware(MACHINE), FORMAT, NAME)


def _dot(tokens: int, **more: Any) -> Dot:
    done = work(tokens)
    return Dot("now", _at_a_time(tokens), float(done.flops), float(done.bytes), _roof(), **more)


def _at_a_time(tokens: int) -> str:
    return "One token at a time" if tokens == 1 else f"{tokens:,} tokens at a time"


def _picture(tokens: int) -> Figure:
    stops = [(_dot(each).intensity, each) for each in TOKENS]
    drag = (("drag", hold("tokens", stops=stops)), ("emphasis", True))
    dot = _dot(tokens, label=f"{tokens:,} token{'' if tokens == 1 else 's'}", size=10, drop=True, more=drag)
    return roofs([_roof()], [dot], ACROSS, "roofline", "Drag the point", height=360, export=False)


def _sentence(tokens: int) -> str:
    dot = _dot(tokens)
    busy = dot.attainable / dot.roof.peak
    at = _at_a_time(tokens)
    if dot.roof.side(dot.intensity) == "compute-bound":
        return f"{at}, memory keeps up, and the GPU can do what it was bought for. What does it take to get here?"
    return (
        f"{at}, the {NAME} can use at most <b>{share(busy, 1.0)}</b> of its arithmetic. The rest waits for memory, however fast it is."
        " Drag the point to the right."
    )
