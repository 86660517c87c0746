"""Kernels that no kind of op stands for, norms of long rows and softmax down an axis: sizes by hand, times against rows of evidence."""

from itertools import pairwise

import pytest
from on_machines import H200, lower

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.cuda.windows import STOOD_IN
from ironlaw.backends.evidence_ops import OPS
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import STAND_IN, op
from ironlaw.registry.evidence import file


def stood_in(name, x, y, dtype="fp32", kind="copy"):
    return op(kind, name, [Tensor("x", x, dtype)], [Tensor("y", y, dtype)], **{STAND_IN: name})


def test_windows_are_put_into_columns_image_by_image():
    """16 images, windows of 3 × 3 of 64 channels: 17 kernels were counted."""
    main, beside = lower(stood_in("im2col", (16, 64, 56, 56), (16, 576, 3136)))
    assert (main.count, beside.count, main.depth) == (16, 1, 9)
    assert main.data * 16 == pytest.approx(4 * (16 * 64 * 3136 + 16 * 576 * 3136))


def test_a_gradient_of_resizing_waits_where_many_are_added_to_one_pixel():
    few, many = (lower(stood_in("upsample_bilinear2d_backward", (1, 8, 64, 64), (1, 8, n, n)))[0] for n in (32, 2))
    assert many.rows / few.rows == pytest.approx((1 + 1024 / 11) / (1 + 4 / 11))
    half = lower(stood_in("upsample_bilinear2d_backward", (1, 8, 64, 64), (1, 8, 32, 32), "bf16"))[0]
    assert half.rows == pytest.approx(2.3 * few.rows)


def test_they_rest_on_rows_of_their_own():
    h200 = il.hardware(H200)
    assert set(require("cuda").timed) == set(STOOD_IN)
    x = stood_in("im2col", (16, 64, 56, 56), (16, 576, 3136))
    assert h200.calibration.cost(x, h200, il.Plan()).doubt.place == "inside" and h200.calibration.source(x, h200) == "curve"


def norm(shape, weight):
    x, w = Tensor("x", shape, "fp32"), Tensor("w", weight, "fp32", "weight")
    return op("layer_norm", "n", [x, w, w], [Tensor("y", shape, "fp32")])


def test_a_row_is_as_long_as_the_weight():
    (kernel,) = lower(norm((96, 512, 321), (512, 321)))
    assert (kernel.curve, kernel.rows, kernel.depth) == ("layer_norm", 96, 512 * 321)
    assert lower(norm((96, 512, 320), (320,)))[0].depth == 320


@pytest.mark.parametrize(("width", "measured"), [(4096, 6.4e-6), (16384, 19.4e-6)])
def test_few_long_rows_take_as_long_as_one_and_one_row_more_takes_no_less(width, measured):
    """An H200 takes 64 rows in the time of 128 (evidence h200_sxm/wide_norms), and has no step at 129."""
    h200 = il.hardware(H200)
    times = [float(h200.calibration.cost(norm((rows, width), (width,)), h200, il.Plan()).device) for rows in (64, 128, 129, 160)]
    assert all(late > 0.99 * early for early, late in pairwise(times)) and times[-1] < 1.15 * times[0]
    assert times[1] == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("inner", "steps"), [(2047, 16000), (64, 1000), (8, 125)])
def test_threads_share_a_column_where_few_lie_beside_each_other(inner, steps):
    """A block has 1,024 threads: 16 for each of 64 columns, 128 for each of 8."""
    x = Tensor("x", (4, 16000, inner), "fp32")
    (forward,) = lower(op("softmax", "s", [x], [x], row=16000, axis=1))
    kernels = lower(op("softmax", "s", [x, x], [x], row=16000, axis=1, backward="softmax"))
    assert forward.depth == kernels[0].depth == steps
    assert [k.curve for k in kernels] == ["softmax_columns_backward", "mul"]


def test_flags_are_widened_before_they_are_counted():
    x, y = Tensor("x", (4096, 1000), "bool"), Tensor("y", (4096,), "int64")
    cast, counted = lower(op("sum", "s", [x], [y], over="row"))
    assert (cast.curve, cast.data) == ("cast_up", 9 * 4096000) and counted.data == pytest.approx(8 * (4096000 + 4096))


def test_many_small_products_cost_by_the_block():
    x, w, y = Tensor("x", (200000, 4, 4), "bf16"), Tensor("w", (200000, 4, 4), "bf16"), Tensor("y", (200000, 4, 4), "bf16")
    (kernel,) = lower(op("bmm", "b", [x, w], [y]))
    assert kernel.count == 4 and kernel.rows == 50000  # 65,535 in a launch, as four kernels were counted


def test_sums_at_few_places_wait_for_the_most_crowded():
    """A million rows for 1,024 places: as many come to each, one after the other, after a sort by ten bits. A million numbers for 64
    places, by six: of those, four times the mean are taken to come to the fullest."""
    known = {"how": "put", "touched": 2.0**26, "accumulate": True, "places": 2.0**20, "each": 64.0}
    x, places, rows = Tensor("x", (2**10, 64), "fp32"), Tensor("i", (2**20,), "int64"), Tensor("v", (2**20, 64), "fp32")
    summed, passes, _ = lower(op("write", "w", [x, places, rows], [x], **known))
    assert (passes.count, summed.curve, summed.depth) == (2, "put_sums", 2**10)
    x, numbers = Tensor("x", (64,), "fp32"), Tensor("v", (2**20,), "fp32")
    summed, passes, _ = lower(op("write", "w", [x, places, numbers], [x], **known | {"touched": 2.0**20, "each": 1.0}))
    assert (passes.count, summed.curve, summed.depth) == (1, "put_sums_single", 4 * 2**14)


@pytest.mark.parametrize(("name", "middle"), [("single_calls", 0.1), ("crowds", 0.2)])
def test_most_single_calls_are_met(name, middle):
    """Half of them by a tenth, sums at crowded places by a fifth; the laws alone were off by ten times and more before there were rows."""
    h200 = il.hardware(H200)
    rows = [row for row in file(f"h200_sxm/{name}").rows if row.op == "called"]
    off = sorted(abs(h200.calibration.cost(OPS["called"](r.params), h200, il.Plan()).device / r.busy_s - 1) for r in rows[::4])
    assert off[len(off) // 2] < middle
    assert off[int(0.9 * len(off))] < 0.5
