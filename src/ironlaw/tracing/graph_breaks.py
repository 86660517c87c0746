"""What torch.compile leaves to Python: the ops that run eagerly in a compiled model, and how often compiled code is entered.

Dynamo traces a function with all that it calls, and breaks the graph where Python needs a tensor's value (`.item()`, a result whose size
depends on data), at `nn.LSTM`, `nn.GRU` and `nn.RNN`, and where a gradient is taken. What it does then, seen with PyTorch 2.11 and 2.13
and a backend that counts graphs:

- what broke the graph runs eagerly; code before and after it in the same function is compiled, as two graphs;
- a function that breaks within a loop is left to Python as a whole, and after a recurrent layer so is the rest of the function;
- for whoever calls it, the call is a break, which may itself be in a loop; what it calls is traced as a function of its own, unless it
  is PyTorch's code. The outermost module with weights is a function whoever wrote it: `torch.compile(model)` compiles what it is handed.

A function is known by the way that leads to it, each frame's code and instruction: two turns of a loop are one.
"""

from __future__ import annotations

import dis
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType
from typing import Any

from ironlaw.tracing.source_lines import is_own

VALUE, RECURRENT, GRADIENT = "value", "recurrent", "gradient"
UNASKED = ("transformers/masking_utils.py", "transformers/modeling_attn_mask_utils.py")  # files that read no value while Dynamo traces them
BACK = ("JUMP_BACKWARD", "POP_JUMP_BACKWARD")  # but not _NO_INTERRUPT, which waits
BEGINS = ("run", "step", "script")  # functions of tracing/fake_run.py that call the user's code
Place = tuple[CodeType, int]  # a function's code, and the instruction that it is at
Way = tuple[Place, ...]  # from the compiled function down to the one that runs
Function = tuple[Way, CodeType]


def _model() -> None:
    """Stands for the call of a model: one of PyTorch's own classes has no function of somebody's own."""


MODEL: Place = (_model.__code__, 0)


@dataclass(frozen=True)
class Break:
    """`call`: the number of the ATen call, as the recorder counts them."""

    what: str
    way: Way
    call: int


@dataclass(frozen=True)
class Compiled:
    """Whether each op is in a compiled graph, and how many times one is entered."""

    inside: tuple[bool, ...]
    entries: int


_seen: dict[int, tuple[CodeType, bool]] = {}  # by its id: a function's code, and whether it is somebody's own


def _looked_at(code: CodeType) -> tuple[CodeType, bool]:
    _seen[id(code)] = found = code, is_own(code.co_filename)
    return found


@cache
def _call() -> CodeType:
    from torch import nn  # here: a script's captures are asked for by who needs no PyTorch

    return nn.Module._call_impl.__code__


def has_weights(module: Any) -> bool:
    """Whether it or one in it has parameters; without a list of them all, which is asked for at every operator."""
    if any(weight is not None for weight in module._parameters.values()):
        return True
    return any(child is not None and has_weights(child) for child in module._modules.values())


def way_here(end: str, models: bool = True) -> Way:
    """The functions that are running, without PyTorch's and ours, from the one that a file called `end` calls; with `models` MODEL is
    among them, where somebody's function calls a model."""
    frame: FrameType | None = sys._getframe(1)
    places: list[Place] = []
    inside, model, call, seen = -1, frame, _call(), _seen.get
    while frame is not None:
        code = frame.f_code
        own = seen(id(code)) or _looked_at(code)
        if own[1]:
            places.append((code, frame.f_lasti))
        elif code is call:
            inside, model = len(places), frame
        elif code.co_filename == end and code.co_name in BEGINS:
            break
        frame = frame.f_back
    if models and 0 <= inside < len(places) and model is not None and has_weights(model.f_locals["self"]):
        places.insert(inside, MODEL)
    return tuple(reversed(places)) if frame is not None else ()


@cache
def loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """First and last instruction of each loop."""
    jumps = [i for i in dis.get_instructions(code) if i.opname.startswith(BACK) and not i.opname.endswith("NO_INTERRUPT")]
    return tuple((i.argval, i.offset) for i in jumps)


def in_loop(place: Place) -> bool:
    code, instruction = place
    return any(first <= instruction <= last for first, last in loops(code))


def compiled(ways: Sequence[Way], calls: Sequence[int], breaks: Sequence[Break]) -> Compiled:
    """`ways` and `calls` are of the ops: where each was called, and the number of its ATen call."""
    breaks = [one for one in breaks if not any(code.co_filename.endswith(UNASKED) for code, _ in one.way)]
    broken: set[Way] = set()  # calls that a graph ends before
    left: set[Function] = set()  # functions that are left to Python
    recurrent: dict[Function, int] = {}  # function -> number of the call from which on it is left to Python
    for one in breaks:
        for depth in range(1, len(one.way) + 1):
            way = one.way[:depth]
            broken.add(way)
            if in_loop(way[-1]):
                left.add(_function(way))
        if one.what == RECURRENT and one.way:
            recurrent.setdefault(_function(one.way), one.call)
    eager = {one.call for one in breaks if one.what != GRADIENT}
    through = {one.way for one in breaks if one.what != GRADIENT}

    def root(way: Way, call: int) -> Function | None:
        """The function whose graph an op is in; None where it runs eagerly."""
        if call in eager or way in through:
            return None
        for depth in range(1, len(way) + 1):
            function = _function(way[:depth])
            by_itself = function in left or call >= recurrent.get(function, call + 1)
            if not by_itself and (depth == len(way) or way[:depth] not in broken):
                return function
        return None if way else ((), root.__code__)  # called by us: the optimiser's step

    roots = [root(way, call) for way, call in zip(ways, calls, strict=True)]
    ends = sorted(one.call for one in breaks)
    numbers = [bisect_left(ends, call) if at else -1 for at, call in zip(roots, calls, strict=True)]
    graphs = [graph for graph in zip(roots, numbers, strict=True) if graph[0] is not None]  # gradients added up meanwhile end none
    entries = sum(now != before for before, now in zip([(None, -1), *graphs], graphs, strict=False))
    return Compiled(tuple(at is not None for at in roots), entries)


def _function(way: Way) -> Function:
    return way[:-1], way[-1][0]
