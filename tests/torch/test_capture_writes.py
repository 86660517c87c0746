"""Writes into a part of a tensor: what is touched moves, by hand; a copy first where the op leaves its input alone."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ironlaw as il

CACHE, ROWS = (2, 4, 100, 16), (2, 4, 3, 16)  # 12,800 and 384 elements of 4 bytes
TOUCHED = 384 * 4
PLACES = torch.arange(3) + 50


def into(write: Any) -> Any:
    def call(cache: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        write(cache, rows)
        return cache

    return il.capture(call, (torch.empty(CACHE), torch.empty(ROWS)))


def slice_(cache: Any, rows: Any) -> None:
    cache[:, :, 50:53] = rows


def put_(cache: Any, rows: Any) -> None:
    cache[:, :, PLACES] = rows


def scatter_(cache: Any, rows: Any) -> None:
    cache.scatter_(2, PLACES[None, None, :, None].expand(ROWS), rows)


@pytest.mark.parametrize(
    ("write", "kind", "index"),
    [
        (lambda cache, rows: cache.index_copy_(2, PLACES, rows), "write", 3 * 8),
        (slice_, "copy", 0),
        (put_, "write", 3 * 8),
        (scatter_, "write", 3 * 8),  # an expanded index is stored once
    ],
)
def test_only_what_is_touched_moves(write: Any, kind: str, index: int) -> None:
    op = into(write).ops[-1]
    assert op.kind == kind
    assert (op.work.read, op.work.written) == (TOUCHED + index, TOUCHED)


def test_what_is_added_to_is_read_too() -> None:
    op = into(lambda cache, rows: cache.index_add_(2, PLACES, rows)).ops[-1]
    assert (op.work.read, op.work.written) == (2 * TOUCHED + 3 * 8, TOUCHED)


def test_not_in_place_is_a_copy_and_then_the_write() -> None:
    graph = il.capture(lambda c, r: c.index_copy(2, PLACES, r), (torch.empty(CACHE), torch.empty(ROWS)))
    assert [op.kind for op in graph.ops] == ["copy", "write"]
    assert graph.ops[0].work.bytes == 2 * 12_800 * 4 and graph.ops[1].work.written == TOUCHED


@pytest.mark.parametrize(("call", "kinds"), [("masked_fill", ["compare", "copy", "select"]), ("masked_fill_", ["compare", "select"])])
def test_a_mask_is_filled_in_a_copy(call: str, kinds: list[str]) -> None:
    graph = il.capture(lambda x: getattr(x, call)(x > 0, 0.0), (torch.empty(8, 8),))
    assert [op.kind for op in graph.ops] == kinds


@pytest.mark.parametrize(("mode", "method"), [("nearest", None), ("bilinear", "bilinear"), ("bicubic", "bicubic")])
def test_resizing_says_how(mode: str, method: str | None) -> None:
    (op,) = il.capture(lambda x: F.interpolate(x, scale_factor=2, mode=mode), (torch.empty(1, 3, 8, 8),)).ops
    assert (op.kind, op.attrs.get("method"), op.work.bytes) == ("upsample", method, 4 * 5 * 192)


@pytest.mark.parametrize(("call", "dims"), [(F.conv1d, 1), (F.conv2d, None), (F.conv3d, 3)])
def test_convolutions_say_along_how_many_axes(call: Any, dims: int | None) -> None:
    rank = dims or 2
    x, w = torch.empty(1, 4, *[8] * rank), torch.empty(6, 4, *[3] * rank)
    (op,) = il.capture(call, (x, w)).ops
    assert op.attrs.get("dims") == dims
    assert op.work.matmul_flops == 2 * 6 * 6**rank * 4 * 3**rank


def test_what_is_priced_as_something_else_says_so() -> None:
    (op,) = il.capture(lambda x: torch.multinomial(x, 1), (torch.empty(4, 100),)).ops
    assert op.attrs["stand_in"] == "multinomial"
    machine = il.hardware("h200_sxm")
    assert machine.calibration.source(op, machine) == "stand-in"
