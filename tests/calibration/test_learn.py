"""How far to look along each axis, and how sure to be: the leave-one-out likelihood by brute force, and what the search promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from ironlaw.backends.signatures import Signature
from ironlaw.calibration import learn as learning
from ironlaw.calibration.learn import BETTER, FEWEST, FREEDOM, STARTS, STEADIEST, Residual, families, learn, widening
from ironlaw.calibration.neighbours import Correction, Family

FOUR_IN_FIVE = 1.2816  # sd of a normal distribution
numbers = st.floats(-3, 3)
few = st.lists(st.tuples(numbers, numbers, st.floats(-1, 1)), min_size=3, max_size=9, unique_by=lambda row: row[:2])


def rows_of(function, count=60, seed=0, noise=0.03):
    random = np.random.default_rng(seed)
    places = random.uniform(0, 8, (count, 2))
    return [(tuple(map(float, place)), float(function(*place) + random.normal(0, noise)), 0.0) for place in places]


def arrays(rows):
    return np.array([place for place, *_ in sorted(rows)]), np.array([residual for _, residual, _ in sorted(rows)])


@given(few, st.floats(0.5, 4), st.floats(0.5, 4), st.floats(0.03, 0.3), st.floats(0.1, 1))
def test_the_loss_is_that_of_each_row_foretold_by_all_others(rows, one, other, noise, signal):
    """A Gaussian process on the other rows, then Student's t of what it was off; differences, because a constant may be left out."""

    def by_hand(scales):
        x, y = np.array([row[:2] for row in rows]) / scales, np.array([row[2] for row in rows])
        apart = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)) * math.sqrt(3)
        shared = signal**2 * (1 + apart) * np.exp(-apart)
        total = 0.0
        for i in range(len(y)):
            rest = [j for j in range(len(y)) if j != i]
            known = shared[np.ix_(rest, rest)] + noise**2 * np.eye(len(rest))
            mean = shared[i, rest] @ np.linalg.solve(known, y[rest])
            variance = signal**2 + noise**2 - shared[i, rest] @ np.linalg.solve(known, shared[rest, i])
            total -= student.logpdf(y[i], FREEDOM, mean, math.sqrt(variance))
        return total

    x, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    found = [learning._loss(x, y, scales, noise, signal) for scales in ([one, other], [1.0, 1.0])]
    assert found[0] - found[1] == pytest.approx(by_hand([one, other]) - by_hand([1.0, 1.0]), abs=1e-4)


LITTLE = 4 * BETTER  # the search goes round twice, then it is near enough
SURFACES = {
    "along the first axis": lambda a, b: 0.5 * math.sin(a),
    "along the second": lambda a, b: 0.5 * math.cos(b),
    "a step": lambda a, b: 0.3 * (a > 4),
    "slowly along both": lambda a, b: 0.1 * a - 0.05 * b,
    "nothing": lambda a, b: 0.0,
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_ends_where_no_step_is_worth_it(surface, seed):
    x, y = arrays(rows_of(SURFACES[surface], 40, seed))
    signal = max(float(np.sqrt(np.mean(y * y))), STEADIEST)
    scales, noise, signal_found = learning._search(x, y, signal)
    best = learning._loss(x, y, scales, noise, signal_found)
    for start in STARTS:  # no worse than any of the places from which it may begin
        for begun in (STEADIEST, 0.08):
            assert best <= learning._loss(x, y, [start] * 2, begun, signal)
    for axis in (0, 1):  # and a step along one axis brings nothing, or next to nothing
        for times in (0.5, 2.0, 4.0):
            stepped = [scale * times if i == axis else scale for i, scale in enumerate(scales)]
            assert learning._loss(x, y, stepped, noise, signal_found) >= best - LITTLE
    for times in (0.5, 2.0):
        assert learning._loss(x, y, scales, max(noise * times, STEADIEST), signal_found) >= best - LITTLE
        assert learning._loss(x, y, scales, noise, signal_found * times) >= best - LITTLE
    assert noise >= STEADIEST
    steps = [math.log2(value / start) for value, start in ((scales[0], 1.0), (scales[1], 1.0), (signal_found, signal))]
    assert steps == pytest.approx([round(step) for step in steps])  # only doublings and halvings are tried


@pytest.mark.parametrize("surface", SURFACES)
def test_few_noisy_rows_never_lead_it_to_a_worse_place_than_where_it_began(surface):
    for seed, noise, count in ((0, 0.3, 12), (2, 0.3, 12), (3, 0.1, 9), (0, 0.3, 9), (1, 1.0, 6), (7, 0.3, 9)):
        x, y = arrays(rows_of(SURFACES[surface], count, seed, noise))
        signal = max(float(np.sqrt(np.mean(y * y))), STEADIEST)
        found = learning._loss(x, y, *learning._search(x, y, signal))
        assert found <= min(learning._loss(x, y, [start] * 2, begun, signal) for start in STARTS for begun in (STEADIEST, 0.08)) + 1e-9


def test_noise_is_found_where_rows_do_not_repeat():
    quiet, loud = (learn(rows_of(lambda a, b: 0.5 * math.sin(a), 60, 3, noise)) for noise in (0.03, 0.3))
    assert quiet.noise <= 0.08 < loud.noise
    assert quiet.at((4.0, 4.0)).sd < 0.5 * loud.at((4.0, 4.0)).sd


@pytest.mark.parametrize(("count", "seed"), [(12, 0), (30, 1), (60, 2), (199, 3)])
def test_four_rows_in_five_each_left_out_fall_inside(count, seed):
    """Up to 200 rows, all of them are asked; a process that was too unsure is not narrowed to less than half."""
    rows = rows_of(lambda a, b: 0.4 * math.sin(a) + 0.3 * (b > 4), count, seed, 0.1)
    family = learn(rows)
    assert widening(Family(family.scales, family.noise, family.signal, 1.0, family.places, family.residuals)) == family.widen
    inside = []
    for i, (place, residual, _) in enumerate(sorted(rows)):
        foretold = family.at(place, without=i)
        inside.append(abs(residual - math.log(foretold.factor)) <= FOUR_IN_FIVE * foretold.sd * 1.01)
    assert 0.8 <= sum(inside) / count <= 0.8 + 2 / count or family.widen == 0.5


def test_a_process_is_never_surer_than_twice_what_it_says():
    # all rows on one plane: each is foretold exactly
    family = learn([((float(i), 0.0), 0.0, 0.0) for i in range(20)])
    assert family.widen == 0.5


@pytest.mark.parametrize("most", [10, 19, 20, 33, 60, 61])
def test_constants_come_from_some_rows_spread_over_all_and_predictions_from_every_one(monkeypatch, most):
    seen = []

    def search(x, y, signal):
        seen.append((x, y, signal))
        return [2.0, 3.0], 0.05, signal

    monkeypatch.setattr(learning, "MOST", most)
    monkeypatch.setattr(learning, "_search", search)
    rows = rows_of(lambda a, b: 0.2 * a)
    family = learn(rows)
    ((x, y, signal),) = seen
    step = math.ceil(60 / most)
    every_x, every_y = arrays(rows)
    assert len(y) <= most and (x == every_x[::step]).all() and (y == every_y[::step]).all()
    assert signal == pytest.approx(math.sqrt(float((y * y).mean())))
    assert (family.scales, family.noise) == ((2.0, 3.0), 0.05)
    assert [v * s for place in family.places for v, s in zip(place, family.scales, strict=True)] == pytest.approx(every_x.ravel().tolist())
    assert family.residuals == tuple(round(v, 4) for v in every_y.tolist())


def test_constants_are_kept_to_four_digits_and_rows_by_their_place():
    rows = rows_of(lambda a, b: 0.123456 * a)
    family = learn(rows)
    assert all(float(f"{scale:.4g}") == scale for scale in family.scales)
    assert (round(family.noise, 4), round(family.signal, 4)) == (family.noise, family.signal)
    assert learn(rows[::-1]) == family
    # where all rows agree with their curves, the rest is as steady as rows can be
    assert learn([((float(i), 1.0), 0.0, 0.0) for i in range(FEWEST)]).signal == STEADIEST


def test_rows_are_put_together_by_family():
    rows = [Residual(Signature(name, (float(i), 1.0)), 0.1 * (name == "b"), float(i)) for i in range(FEWEST) for name in ("b", "a")]
    found = families(rows)
    assert list(found) == ["a", "b"]
    assert set(found["a"].residuals) == {0.0} and set(found["b"].residuals) == {0.1}
    assert [place[0] * found["a"].scales[0] for place in found["a"].places] == pytest.approx(list(range(FEWEST)))


@pytest.mark.parametrize(("share", "asked"), [(0.0, True), (0.3, True), (0.55, True), (0.6, False), (1.0, False)])
def test_neighbours_count_kernels_only_where_they_err_clearly_less_than_the_rules(share, asked):
    """Pairs of rows at one place: with another count in `share` of the pairs, the nearest row is off by as much in each of both."""
    each = 0.25
    rows = [((float(i), float(j)), 0.0, each * (j == 0 or i >= share * 20)) for i in range(20) for j in (0, 0.01)]
    rules, neighbours = sum(abs(extra) for *_, extra in rows), 2 * each * math.ceil(share * 20)
    assert (neighbours < 0.8 * rules) == asked
    assert bool(learn(rows).extras) == asked


def test_where_the_rules_are_right_nobody_else_counts():
    assert learn(rows_of(lambda a, b: 0.1 * a)).extras == ()


class Told:
    """Rows that are off by so many of their own sd, and a note of which were asked for."""

    def __init__(self, *off, sd=0.5):
        self.places, self.scales = tuple((float(i),) for i in range(len(off))), (1.0,)
        self.residuals, self.sd, self.asked = tuple(sd * each for each in off), sd, []

    def at(self, place, without):
        self.asked.append(without)
        assert place == [float(without)]
        return Correction(1.0, self.sd, 1.0)


@given(st.lists(st.floats(0.65, 9), min_size=1, max_size=60))
def test_a_process_is_widened_until_four_in_five_fall_inside_and_no_more(off):
    wide = FOUR_IN_FIVE * widening(Told(*off))
    assert sum(each <= wide + 1e-3 for each in off) >= 0.8 * len(off)
    assert wide == pytest.approx(sorted(off)[min(math.ceil(0.8 * len(off)), len(off) - 1)], abs=1e-3)
    assert round(wide / FOUR_IN_FIVE, 3) == pytest.approx(wide / FOUR_IN_FIVE, abs=1e-12)


@pytest.mark.parametrize(("count", "step"), [(1, 1), (199, 1), (200, 1), (399, 1), (400, 2), (450, 2), (1000, 5)])
def test_some_two_hundred_rows_tell_how_wide(count, step):
    told = Told(*[1.0] * count)
    widening(told)
    assert told.asked == list(range(0, count, step))
