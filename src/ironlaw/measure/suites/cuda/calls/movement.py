"""Calls that move, pick, and mask."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Shapes, Table, from_table, image, matrix, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

PICKS = 11  # different lookups, one for each turn
PICKED: dict[str, Callable[[Any, Any], Any]] = {
    "index_select": lambda x, picks: torch.index_select(x, 0, picks),
    "index": lambda x, picks: x[picks],
    "gather": lambda x, picks: torch.gather(x, 0, picks),
}


def scores(p: Params) -> Shapes:
    return [(p["b"], p["h"], p["s"], p["s"]), (1, 1, p["s"], p["s"])]


MOVES: Table = {
    "transpose_2d": (matrix, lambda p, x: x.t().contiguous()),
    "upsample_nearest": (image, lambda p, x: F.interpolate(x, scale_factor=p["scale"])),
    "pad": (image, lambda p, x: F.pad(x, (p["left"], p["right"], p["top"], p["bottom"]))),
    "cat_last": (lambda p: [(p["b"], p["h"], p["s"], p["d"] // 2)] * 2, lambda p, x, y: torch.cat((x, y), -1)),
    "cat_seq": (lambda p: [(p["b"], p["h"], s, p["d"]) for s in (p["ctx"], 1)], lambda p, x, y: torch.cat((x, y), -2)),
    "cat_token": (lambda p: [(p["b"], s, p["d"]) for s in (1, p["s"])], lambda p, x, y: torch.cat((x, y), 1)),
    "transpose_heads": (lambda p: [(p["b"], p["s"], p["h"], p["d"])], lambda p, x: x.transpose(1, 2).contiguous()),
    "compare_masked_fill": (scores, lambda p, x, m: x.masked_fill(m > 0, -1e4)),
    "bool_where": (scores, lambda p, x, m: torch.where(x.bool(), x, m)),
}


def picked(op: str) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x, picks = i.act((p["rows"], p["cols"]), p["dtype"]), i.ids(p["picks"], p["rows"])
        wide = picks[:, None].expand(p["picks"], p["cols"]).contiguous() if op == "gather" else picks
        return lambda: PICKED[op](x, wide)

    return make


CALLS: dict[str, Make] = {**from_table(MOVES), **{op: picked(op) for op in PICKED}}
makes = registrar(CALLS)


@makes("embedding")
def embedding(i: SweepInputs, p: Params) -> Call:
    known = i.act((p["vocab"], p["dim"]), p["dtype"])
    picks = cycle([i.ids(p["tokens"], p["vocab"]) for _ in range(PICKS)])
    return lambda: F.embedding(next(picks), known)


@makes("masked_fill")
def masked_fill(i: SweepInputs, p: Params) -> Call:
    whole, each = scores(p)
    x, mask = i.act(whole, p["dtype"]), i.act(each, p["dtype"]) > 0
    return lambda: x.masked_fill(mask, -1e4)


@makes("where")
def where(i: SweepInputs, p: Params) -> Call:
    whole, each = scores(p)
    x, y, mask = i.act(whole, p["dtype"]), i.act((1,), p["dtype"]), i.act(each, p["dtype"]) > 0
    return lambda: torch.where(mask, x, y)


@makes("roll")
def roll(i: SweepInputs, p: Params) -> Call:
    x = i.act(p["shape"], p["dtype"])
    return lambda: torch.roll(x, (-3, -3), (1, 2))


@makes("clone_heads")
def clone_heads(i: SweepInputs, p: Params) -> Call:
    x = i.act((p["b"], p["s"], p["h"], p["d"]), p["dtype"]).transpose(1, 2)
    return x.contiguous


@makes("add_permuted")
def add_permuted(i: SweepInputs, p: Params) -> Call:
    width = p["h"] * p["d"]
    x, y = i.act((p["b"], width, p["s"]), p["dtype"]).transpose(1, 2), i.act((p["b"], p["s"], width), p["dtype"])
    return lambda: x + y


@makes("clone_columns")
def clone_columns(i: SweepInputs, p: Params) -> Call:
    """Rows become columns: what is written together is read from far apart."""
    x = i.act((p["b"], p["d"], p["s"]), p["dtype"]).transpose(1, 2)
    return x.contiguous


@makes("repeat_rows")
def repeat_rows(i: SweepInputs, p: Params) -> Call:
    """Each matrix several times, one after the other: the keys that a group of heads shares."""
    x = i.act((p["b"], 1, p["rows"], p["cols"]), p["dtype"]).expand(p["b"], p["times"], p["rows"], p["cols"])
    return x.contiguous
