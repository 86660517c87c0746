"""A tile through a product: at the end every matrix has moved once, and the count is the roofline's."""

import pytest

import ironlaw as il
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.pictures.moving.tiles import Product, through, tiles
from ironlaw.widget.motion import Counter, Place

MACHINE = il.hardware("h100_sxm")
PEAK, RATE = float(MACHINE.peak("fp16")), float(MACHINE.bandwidth)


@pytest.mark.parametrize(("m", "n", "k"), [(256, 256, 256), (4096, 4096, 4096), (1, 4096, 4096), (3, 5, 7)])
def test_the_counts_are_the_engines(m, n, k):
    work = op("matmul", "gemm", (Tensor("a", (m, k), "fp16"), Tensor("b", (k, n), "fp16")), (Tensor("c", (m, n), "fp16"),)).work
    product = Product(m, n, k, 2.0, PEAK, RATE, "FLOP/B")
    found = tiles(product)
    assert sum(tile.moved for tile in found) == pytest.approx(float(work.bytes))
    assert sum(tile.flops for tile in found) == pytest.approx(float(work.flops))
    motion = through(product)
    counters = {thing.label: thing.points for thing in motion.things if isinstance(thing, Counter)}
    assert counters["intensity so far"][-1][1] == pytest.approx(float(work.intensity))
    assert counters["ridge"][-1][1] == pytest.approx(float(MACHINE.ridge("fp16")))
    assert motion.end >= max(float(work.bytes) / RATE, float(work.flops) / PEAK) * (1 - 1e-9)  # no tile beats the roof


def test_reuse_lifts_it_along_a_row_and_from_row_to_row():
    points = next(thing.points for thing in through(Product(512, 512, 512, 2.0, PEAK, RATE, "FLOP/B")).things
                  if isinstance(thing, Counter) and thing.label == "intensity so far")  # fmt: skip
    values = [value for _, value in points]
    rows = [values[1 + 8 * i : 9 + 8 * i] for i in range(8)]
    assert all(row == sorted(row) for row in rows) and [row[-1] for row in rows] == sorted(row[-1] for row in rows)


def test_every_tile_lights_up_once():
    motion = through(Product(512, 512, 512, 2.0, PEAK, RATE, "FLOP/B"))
    lit = [thing for thing in motion.things if isinstance(thing, Place) and thing.spans]
    assert sum(place.colour == "compute" for place in lit) == 64 and sum(place.colour == "memory" for place in lit) == 16
    assert all(len(place.spans) == 1 and place.spans[0][1] == motion.end for place in lit)


def test_one_row_has_hardly_anything_to_reuse():
    assert "hardly anything" in through(Product(1, 4096, 4096, 2.0, PEAK, RATE, "FLOP/B")).title
