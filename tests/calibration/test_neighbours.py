"""What the curves leave unexplained, learnt from neighbours: against NumPy's linear algebra, SciPy's Matérn, and rows left out."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gamma, kv

import ironlaw as il
from ironlaw.backends.signatures import APART, Signature, signature
from ironlaw.calibration.learn import FEWEST, Residual, families, learn
from ironlaw.calibration.neighbours import NEAR, NEAREST, Family, cholesky, forward
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.uncertainty import matern
from ironlaw.engine.device.work import op
from ironlaw.registry.evidence import evidence

H200 = il.hardware("h200_sxm")
FAMILIES = H200.calibration.families
numbers = st.floats(-4, 4)


def small(places=((0.0,), (1.0,), (3.0,)), residuals=(0.3, -0.1, 0.2), scales=(1.0,), **more) -> Family:
    return Family(scales, 0.05, 0.4, 1.0, tuple(map(tuple, places)), tuple(residuals), **more)


# ---- the mathematics


@given(st.floats(1e-3, 20))
def test_the_correlation_is_materns_with_a_smoothness_of_three_halves(distance):
    nu, scaled = 1.5, math.sqrt(3.0) * distance
    assert matern(distance) == pytest.approx(2 ** (1 - nu) / gamma(nu) * scaled**nu * kv(nu, scaled), rel=1e-9)


@given(st.lists(st.lists(numbers, min_size=5, max_size=5), min_size=5, max_size=5), st.lists(numbers, min_size=5, max_size=5))
def test_cholesky_and_forward_substitution_are_numpys(rows, right):
    a = np.array(rows) @ np.array(rows).T + np.eye(5)
    lower = cholesky([list(a[i, : i + 1]) for i in range(5)])
    whole = np.zeros((5, 5))
    for i, line in enumerate(lower):
        whole[i, : i + 1] = line
    assert whole == pytest.approx(np.linalg.cholesky(a), rel=1e-6, abs=1e-9)
    assert forward(lower, right) == pytest.approx(np.linalg.solve(whole, right), rel=1e-5, abs=1e-7)


@given(st.lists(st.tuples(numbers, numbers, st.floats(-1, 1)), min_size=3, max_size=12, unique_by=lambda row: row[:2]), numbers, numbers)
def test_the_answer_is_the_posterior_of_a_gaussian_process(rows, x, y):
    family = small([row[:2] for row in rows], [row[2] for row in rows], (1.0, 1.0))
    places, residuals = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1)) * math.sqrt(3)
    away = np.sqrt(((places - [x, y]) ** 2).sum(-1)) * math.sqrt(3)
    shared = 0.4**2 * (1 + apart) * np.exp(-apart) + 0.05**2 * np.eye(len(rows))
    towards = 0.4**2 * (1 + away) * np.exp(-away)
    answer = family.at((x, y))
    assert math.log(answer.factor) == pytest.approx(towards @ np.linalg.solve(shared, residuals), abs=1e-6)
    variance = 0.4**2 - towards @ np.linalg.solve(shared, towards) + 0.05**2
    assert answer.sd == pytest.approx(math.sqrt(variance), rel=1e-4)
    assert answer.distance == pytest.approx(away.min() / math.sqrt(3))


def test_far_from_all_rows_nothing_is_known():
    far = small().at((60.0,))
    assert far.factor == pytest.approx(1.0)
    assert far.sd == pytest.approx(math.hypot(0.4, 0.05))
    assert small().at((1.0,)).sd < 0.08  # on a row it is as sure as rows repeat


def test_only_the_nearest_rows_count():
    near = [(0.1 * i,) for i in range(NEAREST)]
    family = small([*near, (50.0,)], [0.1] * NEAREST + [9.0])
    assert family.at((0.5,)) == small(near, [0.1] * NEAREST).at((0.5,))


def test_scales_stretch_the_axes():
    wide = small([(0.0, 0.0), (2.0, 0.0)], [0.0, 0.4], (1.0, 1000.0))
    assert wide.at((0.0, 700.0)).factor == pytest.approx(small([(0.0, 0.0), (2.0, 0.0)], [0.0, 0.4], (1.0, 1.0)).at((0.0, 0.7)).factor)


def test_the_nearest_rows_kernels_are_taken_while_it_is_near():
    family = small(extras=(3.0, 0.0, 1.0))
    assert [family.at((x,)).kernels for x in (0.1, 0.9, 2.9, 3.0 + 1.01 * NEAR)] == [3.0, 0.0, 1.0, 0.0]
    assert family.at((3.0 + NEAR,)).kernels == 0.0 != family.at((3.0 + 0.99 * NEAR,)).kernels  # a whole length scale is not near
    assert small().at((0.1,)).kernels == 0.0


@given(st.integers(2, 300))
def test_a_sweep_is_near_each_of_its_points(count):
    places = np.linspace(-1.0, 5.0, count)
    family = small(extras=(3.0, 0.0, 1.0))
    swept = family.along((places,))
    each = [family.at((float(x),)) for x in places]
    assert swept.factor == pytest.approx([a.factor for a in each], rel=0.06)
    assert swept.factor[[0, -1]] == pytest.approx([each[0].factor, each[-1].factor])
    assert swept.kernels[0] == each[0].kernels and swept.kernels[-1] == each[-1].kernels


def test_a_sweep_that_turns_back_is_asked_at_every_point():
    family, places = small(), np.array([0.0, 3.0, 1.0, 2.0])
    assert family.along((places,)).factor == pytest.approx([family.at((float(x),)).factor for x in places])


def test_it_is_stored_and_read_back():
    family = small([(0.0, 1.0), (2.0, 3.0)], [0.25, -0.5], (2.0, 0.5), extras=(1.0, 0.0))
    back = Family.from_json(json.loads(json.dumps(family.to_json())))
    assert back.at((1.0, 1.0)).factor == pytest.approx(replace(family, places=((0.0, 1.0), (2.0, 3.0))).at((1.0, 1.0)).factor)
    assert back.extras == family.extras


def test_it_is_stored_with_four_decimals():
    """Far finer than anything was measured, and the file stays small."""
    stored = small([(1 / 3,), (2 / 3,)], [1 / 7, -2 / 3], (2.0,)).to_json()
    assert stored["places"] == [[0.6667], [1.3333]] and stored["residuals"] == [0.1429, -0.6667]


points = st.lists(st.tuples(numbers, numbers, st.floats(-1, 1)), min_size=2, max_size=25, unique_by=lambda row: row[:2])


@given(points, numbers, numbers, st.data())
def test_a_row_left_out_might_as_well_not_be_there(rows, x, y, data):
    """Left out by number, or not given at all; and what was asked so is not remembered for the whole."""
    i = data.draw(st.integers(0, len(rows) - 1))
    whole, rest = (small([r[:2] for r in some], [r[2] for r in some], (1.0, 1.0), extras=tuple(float(r[0] > 0) for r in some))
                   for some in (rows, rows[:i] + rows[i + 1 :]))  # fmt: skip
    before = whole.at((x, y))
    assert whole.at((x, y), without=i) == rest.at((x, y))
    assert whole.at((x, y)) == before


def test_answers_are_remembered_but_not_without_end(monkeypatch):
    monkeypatch.setattr("ironlaw.calibration.neighbours.KEPT", 5)
    family, fresh = small(), small()
    assert family.at((0.25,)) is family.at((0.25,))
    for i in range(40):
        assert family.at((0.1 * i,)) == replace(fresh, answers={}).at((0.1 * i,))
        assert 1 <= len(family.answers) <= 5


@given(st.integers(2, 17), st.booleans(), st.booleans())
def test_a_short_sweep_is_asked_at_every_point_up_or_down_with_axes_that_stand_still(count, down, both):
    family = small([(0.0, 1.0), (1.0, 2.0), (3.0, 0.0)], scales=(1.0, 2.0), extras=(3.0, 0.0, 1.0))
    first = np.linspace(5.0, -1.0, count) if down else np.linspace(-1.0, 5.0, count)
    second = np.linspace(2.0, 0.0, count) if both else 1.5
    swept = family.along((first, second))
    each = [family.at((float(a), float(b))) for a, b in zip(first, np.broadcast_to(second, count), strict=True)]
    for name in ("factor", "sd", "distance", "kernels"):
        assert getattr(swept, name) == pytest.approx([getattr(one, name) for one in each]), name


def test_a_long_sweep_is_asked_at_seventeen_places_and_drawn_straight_between():
    """Evenly spread, with both ends; kernels are those of the nearest place that was asked."""
    family, places = small(extras=(3.0, 0.0, 1.0)), np.linspace(-1.0, 5.0, 161)
    swept = family.along((places,))
    asked = [family.at((float(places[i]),)) for i in range(0, 161, 10)]
    assert len(asked) == 17
    for i in range(161):
        low, rest = min(i // 10, 15), (i - 10 * min(i // 10, 15)) / 10
        a, b = asked[low], asked[low + 1]
        assert math.log(swept.factor[i]) == pytest.approx((1 - rest) * math.log(a.factor) + rest * math.log(b.factor))
        assert swept.sd[i] == pytest.approx((1 - rest) * a.sd + rest * b.sd)
        assert swept.distance[i] == pytest.approx((1 - rest) * a.distance + rest * b.distance)
        assert rest == 0.5 or swept.kernels[i] == (a if rest < 0.5 else b).kernels
    assert len(family.answers) == 17


def test_a_sweep_that_rests_is_still_one_way_and_one_that_turns_back_is_not():
    """Seventeen questions are enough for the first; the other is asked at each of its places."""
    steps = np.repeat(np.linspace(0.0, 4.0, 100), 2)
    for places in (steps, steps[::-1]):
        family = small()
        family.along((places,))
        assert len(family.answers) <= 17
    family, there_and_back = small(), np.concatenate([np.linspace(0.0, 2.0, 40), np.linspace(1.99, 0.01, 40)])
    swept = family.along((there_and_back,))
    assert swept.factor == pytest.approx([small().at((float(x),)).factor for x in there_and_back], rel=1e-12)
    assert len(family.answers) == 80


def test_a_grid_of_two_sweeps_keeps_its_shape():
    family = small([(0.0, 1.0), (1.0, 2.0), (3.0, 0.0)], scales=(1.0, 2.0))
    first, second = np.array([[0.0], [1.0], [2.0]]), np.array([[0.5, 1.0]])
    swept = family.along((first, second))
    assert swept.factor.shape == swept.sd.shape == swept.distance.shape == swept.kernels.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            assert swept.factor[i, j] == pytest.approx(family.at((float(first[i, 0]), float(second[0, j]))).factor)
    assert family.along((1.0, 2.0)) == family.at((1.0, 2.0))


@given(points, st.floats(0.25, 8), st.floats(0.25, 8))
def test_any_family_is_stored_and_read_back(rows, one, other):
    """To four digits of a place and of a residual."""
    scaled = [(round(a, 3) / one, round(b, 3) / other) for a, b, _ in rows]
    family = small(scaled, [round(r, 4) for *_, r in rows], (one, other), extras=(1.0,) * len(rows))
    data = json.loads(json.dumps(family.to_json()))
    assert data["places"] == [[round(a, 3), round(b, 3)] for a, b, _ in rows]
    back = Family.from_json(data)
    assert (back.scales, back.noise, back.signal, back.widen, back.residuals, back.extras) == (
        family.scales, family.noise, family.signal, family.widen, family.residuals, family.extras)  # fmt: skip
    assert [v for place in back.places for v in place] == pytest.approx([v for place in family.places for v in place])
    assert Family.from_json({key: value for key, value in data.items() if key != "extras"}).extras == ()


# ---- learning


def rows_of(function, count=60, seed=0):
    random = np.random.default_rng(seed)
    places = random.uniform(0, 8, (count, 2))
    return [(tuple(map(float, place)), float(function(*place) + random.normal(0, 0.03)), 0.0) for place in places]


def test_an_axis_that_does_not_matter_is_looked_along_far():
    family = learn(rows_of(lambda a, b: 0.5 * math.sin(a)))
    assert family.scales[1] > 4 * family.scales[0]
    here = family.at((2.0, 4.0))
    assert here.factor == pytest.approx(math.exp(0.5 * math.sin(2.0)), rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_four_in_five_of_new_rows_fall_where_they_should(seed):
    def surface(a, b):
        return 0.4 * math.sin(a) + 0.3 * (b > 4)

    family = learn(rows_of(surface, 150, seed))
    fresh = rows_of(surface, 200, seed + 10)
    inside = [abs(residual - math.log(family.at(place).factor)) < 1.2816 * family.at(place).sd for place, residual, _ in fresh]
    assert 0.68 <= sum(inside) / len(inside) <= 0.93


def test_counts_are_learnt_only_where_neighbours_know_them_better_than_the_rules():
    places = [(float(x), float(y)) for x in range(6) for y in range(4)]
    by_side = learn([(p, 0.1 * p[0], 3.0 if p[0] > 2 else 0.0) for p in places])
    assert by_side.extras and by_side.at((5.0, 2.0)).kernels == 3.0
    at_random = learn([(p, 0.1 * p[0], 1.0 if i % 7 == 0 else 0.0) for i, p in enumerate(places)])
    assert at_random.extras == ()


def test_a_family_needs_some_rows():
    few = [Residual(Signature("few", (float(i),)), 0.0, 0.0) for i in range(FEWEST - 1)]
    enough = [Residual(Signature("enough", (float(i),)), 0.0, 0.0) for i in range(FEWEST)]
    assert list(families([*few, *enough])) == ["enough"]


def test_without_numpy_the_curves_stand_alone(monkeypatch):
    monkeypatch.setattr("ironlaw.calibration.learn.find_spec", lambda name: None)
    assert families([Residual(Signature("enough", (float(i),)), 0.0, 0.0) for i in range(FEWEST)]) == {}


# ---- the H200's


def left_out(family: Family, some: int = 60):
    for i in range(0, len(family.places), max(1, len(family.places) // some)):
        place = [v * s for v, s in zip(family.places[i], family.scales, strict=True)]
        yield family.at(place, without=i), family.residuals[i]


def test_rows_left_out_are_foretold_better_than_by_the_curves_alone():
    before, after, inside = [], [], []
    for family in FAMILIES.values():
        for foretold, residual in left_out(family):
            off = residual - math.log(foretold.factor)
            before.append(abs(residual))
            after.append(abs(off))
            inside.append(abs(off) < 1.2816 * foretold.sd)
    assert len(before) > 1500
    assert np.mean(after) < 0.65 * np.mean(before)
    assert np.mean(after) < 0.13  # within models rows scatter more than in a sweep
    assert 0.72 <= np.mean(inside) <= 0.88


def test_a_convolution_takes_the_time_that_was_measured():
    x, w, y = Tensor("x", (16, 120, 28, 28)), Tensor("w", (120, 1, 5, 5), role="weight"), Tensor("y", (16, 120, 28, 28))
    depthwise = op("conv2d", "conv", [x, w], [y], stride=1)
    with_rows = predict(Graph("g", (depthwise,), "fp16"), H200).busy_s
    bare = replace(H200, calibration=replace(H200.calibration, families={}))
    alone = predict(Graph("g", (depthwise,), "fp16"), bare).busy_s
    row = next(r for f in evidence("h200_sxm") for r in f.rows if r.op == "conv2d" and r.params.get("kh") == 5
               and (r.params["n"], r.params["c"], r.params["h"], r.dtype, r.params["layout"]) == (16, 120, 28, "fp16", "nchw"))  # fmt: skip
    assert with_rows == pytest.approx(row.busy_s, rel=0.15)
    assert abs(math.log(alone / row.busy_s)) > 2 * abs(math.log(with_rows / row.busy_s))


def test_what_a_compiler_writes_has_no_neighbours_in_a_library():
    gelu = op("gelu", "gelu", [Tensor("x", (1 << 20,))], [Tensor("y", (1 << 20,))])
    assert H200.calibration.correction(gelu, "eager") is not None
    assert H200.calibration.correction(gelu, "compiled") is None
    assert predict(Graph("g", (gelu,), "fp16"), H200, Plan(mode="compiled")).busy_s > 0


def test_signatures_see_what_changes_a_kernel():
    def linear(m, n, k, dtype="fp16"):
        return op("linear", "l", [Tensor("x", (m, k), dtype), Tensor("w", (n, k), dtype, "weight")], [Tensor("y", (m, n), dtype)])

    aligned, odd = signature(linear(64, 512, 256)), signature(linear(64, 511, 256))
    assert aligned.family == odd.family == signature(linear(64, 512, 256, "bf16")).family != signature(linear(64, 512, 256, "fp32")).family
    assert math.dist(aligned.place, odd.place) > 0.9 * APART
    assert aligned.place[:3] == (6.0, 9.0, 8.0)  # doubling a size is a step of one
    assert signature(op("cumsum", "a", [Tensor("x", (4, 8))], [Tensor("y", (4, 8))])) is None
