"""PyTorch's caching allocator by its rules: rounding, pools, best fit, splitting, merging, and what goes back when room is short.

The figures are counted by hand from the constants of c10/cuda/CUDACachingAllocator.cpp.
"""

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.engine.device.allocator import CALLS, Allocator, Requests
from ironlaw.engine.device.memory import LEAST_MARGIN, MARGIN, WORKSPACE, footprint, largest_that_fits, requests, spared
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.systems.largest_sizes import GRID, growth

MIB = 2**20


def taken(*sizes, limit=float("inf")):
    allocator = Allocator(limit)
    return allocator, [allocator.take(size) for size in sizes]


@pytest.mark.parametrize(
    ("sizes", "reserved"),
    [
        ([1], 2 * MIB),
        ([512] * 4096, 2 * MIB),
        ([512] * 4097, 4 * MIB),
        ([513] * 2049, 4 * MIB),  # 1,024 bytes each
        ([MIB], 2 * MIB),
        ([MIB + 1], 20 * MIB),
        ([5 * MIB] * 4, 20 * MIB),
        ([5 * MIB] * 5, 40 * MIB),
        ([10 * MIB], 10 * MIB),
        ([10 * MIB + 1], 12 * MIB),
        ([9 * MIB, 9 * MIB, 1.5 * MIB], 20 * MIB),
        ([9 * MIB, 9 * MIB, 1.5 * MIB, 2 * MIB], 40 * MIB),
        ([0.5 * MIB, 30 * MIB], 32 * MIB),
    ],
)
def test_what_is_taken_from_the_gpu(sizes, reserved):
    assert taken(*sizes)[0].reserved == reserved


def test_the_smallest_free_block_that_is_large_enough_is_used():
    allocator, (large, small) = taken(60 * MIB, 40 * MIB)
    allocator.give(large)
    allocator.give(small)
    again = allocator.take(39 * MIB)  # all of the small one: the rest would be no more than 1 MiB
    assert again is small and again.key[0] == 40 * MIB
    assert allocator.take(50 * MIB) is large and large.key[0] == 50 * MIB
    assert allocator.take(9 * MIB).key[0] == 10 * MIB and allocator.reserved == 100 * MIB


def test_neighbours_that_are_free_become_one_block_again():
    allocator, blocks = taken(*[4 * MIB] * 5)
    for place in (1, 3, 2, 0, 4):
        allocator.give(blocks[place])
    assert allocator.take(10 * MIB) and allocator.reserved == 20 * MIB  # from the whole segment, not a new one
    assert allocator.take(9 * MIB) and allocator.reserved == 20 * MIB


def test_segments_that_are_wholly_free_go_back_when_there_is_no_room():
    allocator, (first, _) = taken(30 * MIB, 30 * MIB, limit=80 * MIB)
    allocator.give(first)
    assert allocator.take(50 * MIB) is not None and (allocator.reserved, allocator.peak) == (80 * MIB, 80 * MIB)
    assert allocator.take(1) is None


def test_a_segment_with_something_in_it_stays():
    allocator, (first, _, _) = taken(5 * MIB, 5 * MIB, 30 * MIB, limit=60 * MIB)
    allocator.give(first)
    assert allocator.take(12 * MIB) is None and allocator.take(9 * MIB) is not None


def test_a_run_is_made_several_times_and_its_blocks_come_back():
    order = (1, 2, ~1, 3, ~2, ~3)
    run = Requests((8.0 * MIB, 30.0 * MIB, 20.0 * MIB, 40.0 * MIB), order, 1)
    assert run.unlimited == (20 + 30 + 20 + 40) * MIB and CALLS == 3
    assert run.fit(91 * MIB) and run.reserved(91 * MIB) == 80 * MIB  # the 30 are given back for the 40
    assert not run.fit(79 * MIB) and run.reserved(79 * MIB) is None
    assert run.at([size / 10 for size in run.sizes]).unlimited == 22 * MIB


WIDE = 3 * MIB  # elements: 12 MiB, a segment of its own
X = Tensor("x", (WIDE,), "fp32", "input")
A, B, C = (Tensor(name, (size,), "fp32") for name, size in (("a", WIDE), ("b", 2 * WIDE), ("c", 3 * WIDE)))
NET = Graph("net", (op("relu", "one", (X,), (A,)), op("relu", "two", (A,), (B,)), op("relu", "three", (B,), (C,))), "fp32",
            {"captured": True}, ("c",))  # fmt: skip


def test_what_a_captured_run_asks_for():
    run = requests(NET, WORKSPACE, (0.0, 5 * MIB, 0.0))
    assert run.resident == 1 and [size / MIB for size in run.sizes] == [12, 12, 24, 5, 36]
    assert run.order == run.first == (1, 2, 3, ~3, ~1, 4, ~2, ~4)
    assert run.unlimited == (12 + 12 + 24 + 20 + 36) * MIB  # no product, no workspace


def test_workspaces_and_an_optimiser_s_state_come_with_the_first_call():
    """Products of both threads, then a step that writes its state: each is made before the op that needs it, and stays."""
    w, state = Tensor("w", (4096, 4096), "fp32", "weight"), Tensor("state", (4096, 4096), "fp32", "buffer")
    y, g, u = (Tensor(name, (1, 4096), "fp32") for name in "ygu")
    ops = (op("linear", "go", (Tensor("x", (1, 4096), "fp32", "input"), w), (y,)), op("linear", "back", (y, w), (g,)),
           op("mul", "step", (g, state), (u,)))  # fmt: skip
    settings = {"captured": True, "training": True, "phases": {"back": "backward", "step": "optimiser"}}
    run = requests(Graph("net", ops, "fp32", settings, ()), 2 * WORKSPACE)
    assert [run.sizes[n] for n in run.first if n >= 0] == [WORKSPACE, 16384, WORKSPACE, 16384, state.bytes, 16384]
    once = [n for n in run.first if n not in run.order]
    assert [run.sizes[n] for n in once] == [WORKSPACE, WORKSPACE, state.bytes] and not any(~n in run.first for n in once)


def test_a_run_whose_tensors_fit_does_not_when_what_is_free_is_cut_into_pieces():
    gpu = replace(il.hardware("h200"), reserved=0.0)
    assert footprint(NET, gpu).margin == MARGIN
    assert footprint(NET, gpu).total == (12 + 24 + 36) * MIB  # x, b and c, when c is made
    for room, fits in ((84, True), (83, False)):  # in the second call a lies where b was, and b where c was; only a's segment can go back
        memory = footprint(NET, replace(gpu, capacity=room * MIB + LEAST_MARGIN + 1.0))
        assert memory.total < memory.usable and memory.fits is fits and memory.segments == 84 * MIB


def test_a_margin_is_a_share_beside_the_weights_and_never_less_than_its_least():
    assert spared(11e9, 0.0, 0.1) == pytest.approx(10e9)
    assert spared(11e9, 10e9, 0.1) == pytest.approx(11e9 - LEAST_MARGIN)  # a tenth of 1 GB would be less
    assert spared(2.6e9, 0.0, 0.3) == pytest.approx(2e9) and spared(1e9, 0.0, 0.0) == 1e9


def test_the_largest_batch_leaves_room_for_what_lies_free():
    """Each size asked for by itself: the search by lines gives the largest of them, to one step of its grid."""

    def at(batch):
        x = Tensor("x", (batch * 300_000,), "fp32", "input")
        a, b, c = (Tensor(name, (batch * size,), "fp32") for name, size in (("a", 900_000), ("b", 500_000), ("c", 1_300_000)))
        return Graph("net", (op("relu", "one", (x,), (a,)), op("relu", "two", (a,), (b,)), op("relu", "three", (b,), (c,))), "fp32",
                     {"captured": True}, ("c",))  # fmt: skip

    gpu = replace(il.hardware("h200"), capacity=4.4e9, reserved=0.0)
    lines = growth("batch", {4: at(4), 8: at(8)}).on(gpu)
    largest = lines.largest(4.4e9)
    sums = largest_that_fits(lines.total, 4.4e9 / (1 + MARGIN))
    alone = max(batch for batch in range(1, sums + 1) if requests(at(batch)).fit(4.4e9 / (1 + MARGIN)))
    assert alone * (1 - 2 / GRID) <= largest <= alone < sums
    assert bool(footprint(at(largest), gpu).fits)


def test_compiling_empties_the_cache_beside_every_kernel_it_tries():
    """Inductor's benchmark takes a block of the L2 cache's size in the first call; what it leaves is there for the calls after it."""
    parts = tuple(replace(one, kind="fused", attrs={"parts": (one,)}) for one in NET.ops)
    gpu = replace(il.hardware("h200"), reserved=0.0)
    (l2,) = (level.size for level in gpu.levels if level.name == "l2")
    run = footprint(replace(NET, ops=parts), gpu).requests()
    sizes = [run.sizes[n] for n in run.first if n >= 0 and n not in run.order]
    assert sizes == [l2] * 3 and [n for n in run.first if max(n, ~n) in run.order] == list(run.order)
    live = [0.0]
    for n in run.first:
        live.append(live[-1] + (run.sizes[n] if n >= 0 else -run.sizes[~n]))
    assert max(live) == 24 * MIB + 36 * MIB + l2 and run.unlimited > requests(NET).unlimited
