"""Calls that write into a part of a tensor, resize, join and reflect."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Shapes, Table, from_table, image, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs


def resized(mode: str) -> Any:
    return lambda p, x: F.interpolate(x, scale_factor=p["scale"], mode=mode, align_corners=False)


def columns(p: Params) -> Shapes:
    return [(p["rows"], width) for width in p["parts"]]


def channels(p: Params) -> Shapes:
    return [(p["n"], count, p["h"], p["w"]) for count in p["parts"]]


TABLE: Table = {
    "upsample_bilinear": (image, resized("bilinear")),
    "upsample_bicubic": (image, resized("bicubic")),
    "pixel_shuffle": (image, lambda p, x: F.pixel_shuffle(x, p["scale"])),
    "pad_reflect": (image, lambda p, x: F.pad(x, (p["pad"],) * 4, mode="reflect")),
    "grid_sample": (
        lambda p: [(p["n"], p["c"], p["h"], p["w"]), (p["n"], p["h"], p["w"], 2)],
        lambda p, x, grid: F.grid_sample(x, grid, align_corners=False),
    ),
    "cat_columns": (columns, lambda p, *parts: torch.cat(parts, -1)),
    "cat_channels": (channels, lambda p, *parts: torch.cat(parts, 1)),
}
CALLS: dict[str, Make] = from_table(TABLE)
makes = registrar(CALLS)


def cache(i: SweepInputs, p: Params) -> tuple[Any, Any, Any]:
    """A cache of keys, new rows of it, and the places they go to."""
    whole = i.act((p["b"], p["h"], p["length"], p["d"]), p["dtype"])
    rows = i.act((p["b"], p["h"], p["rows"], p["d"]), p["dtype"])
    return whole, rows, torch.arange(p["rows"], device=i.device) + p["length"] // 2


@makes("index_copy_")
def index_copy(i: SweepInputs, p: Params) -> Call:
    whole, rows, places = cache(i, p)
    return lambda: whole.index_copy_(2, places, rows)


@makes("slice_copy_")
def slice_copy(i: SweepInputs, p: Params) -> Call:
    whole, rows, _ = cache(i, p)
    part = whole[:, :, p["length"] // 2 : p["length"] // 2 + p["rows"]]
    return lambda: part.copy_(rows)


@makes("index_put_rows_")
def index_put(i: SweepInputs, p: Params) -> Call:
    whole, rows, places = cache(i, p)

    def call() -> Any:
        whole[:, :, places] = rows
        return whole

    return call


@makes("scatter_rows_")
def scatter(i: SweepInputs, p: Params) -> Call:
    whole, rows, places = cache(i, p)
    wide = places[None, None, :, None].expand(p["b"], p["h"], p["rows"], p["d"]).contiguous()
    return lambda: whole.scatter_(2, wide, rows)
