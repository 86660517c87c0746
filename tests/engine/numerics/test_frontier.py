"""What is worth having, on llama.cpp's table and on whatever Hypothesis draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.pareto_2d import Point, dominated_by, frontier
from ironlaw.errors import BadValue
from ironlaw.registry.publications import published
from ironlaw.registry.workloads import workload

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30).map(
    lambda pairs: [Point(f"p{i}", float(x), float(y)) for i, (x, y) in enumerate(pairs)]
)


def by_definition(points):
    return {p.name for p in points if not any(q.dominates(p) for q in points)}


def test_by_hand():
    a, b, c = Point("a", 1, 3), Point("b", 2, 2), Point("c", 2, 3)
    assert frontier([c, b, a]) == (a, b)
    assert dominated_by(c, [a, b, c]) == b  # both do; b harms less
    assert dominated_by(a, [a, b, c]) is None
    assert not a.dominates(a)
    assert frontier([a, Point("twin", 1, 3)]) == (a, Point("twin", 1, 3))
    assert frontier([]) == ()


@given(POINTS)
def test_the_frontier_is_what_nothing_dominates(points):
    left = frontier(points)
    assert {p.name for p in left} == by_definition(points) and len(left) == len(by_definition(points))
    assert list(left) == sorted(left, key=lambda p: (p.cost, p.harm))
    for point in points:
        better = dominated_by(point, points)
        assert (better is None) == (point in left)
        assert better is None or (better in left and better.dominates(point))


@given(POINTS, st.randoms(), st.integers(0, 3), st.integers(0, 3))
def test_order_changes_nothing_and_neither_does_a_point_that_is_dominated(points, random, more_cost, more_harm):
    shuffled = random.sample(points, len(points))
    assert {p.name for p in frontier(shuffled)} == {p.name for p in frontier(points)}
    if points and (more_cost or more_harm):
        worse = Point("worse", points[0].cost + more_cost, points[0].harm + more_harm)
        assert {p.name for p in frontier([*points, worse])} == {p.name for p in frontier(points)}


def test_infinite_harm_is_worth_having_where_nothing_is_cheaper():
    """A model that fits and says nothing useful: dearer ones that harm less don't dominate it."""
    useless, good = Point("useless", 1, float("inf")), Point("good", 2, 1)
    assert frontier([useless]) == (useless,) and frontier([good, useless]) == (useless, good)
    assert frontier([useless, Point("worse", 2, float("inf"))]) == (useless,)


def test_a_flat_line_has_no_correlation():
    line = decay([2, 4, 8], [4.0, 4.0, 4.0])
    assert (line.slope, line.start, line.r, line.factor, line.at(100)) == (0.0, 2.0, 0.0, 1.0, 4.0)


def test_what_was_not_measured_is_refused():
    with pytest.raises(BadValue, match=r"q8.*leave out"):
        Point("q8", 1.0, float("nan"))


def test_llama_cpp_on_its_own_table():
    """21 of 34 formats are worth having; five old ones and K-quants without an importance matrix among them are not."""
    board = published("llama_cpp_scoreboard")
    rows = [row for row in board.rows if row["imatrix"] in ("none", "WT 10m")]
    points = [Point(f"{row['quant']} {row['imatrix']}", row["size"], row["ppl"]) for row in rows]
    left = {p.name for p in frontier(points)}
    assert (len(points), len(left)) == (34, 21)
    assert not left & {f"{quant} none" for quant in ("q5_1", "q5_0", "q4_0", "q4_1", "q4_K_M")}
    named = {p.name: dominated_by(p, points) for p in points}
    assert named["q4_K_M none"].name == "q4_K_M WT 10m"
    assert named["q5_1 none"].name == "q5_K_M none"


def test_bits_a_weight_and_the_slope_of_the_k_quants():
    board, parameters = published("llama_cpp_scoreboard"), workload("llama3_8b").params
    bits = {row["quant"]: row["size"] * 8 / parameters for row in board.where(imatrix="none")}
    assert [round(bits[name], 2) for name in ("q8_0", "q4_K_M", "q4_0", "q2_K")] == [8.51, 4.9, 4.64, 3.17]
    assert round(board.value("size", quant="iq1_S", imatrix="WT 10m") * 8 / parameters, 2) == 2.01
    quants = [row for row in board.where(imatrix="none") if "_K" in row["quant"]]
    line = decay([bits[row["quant"]] for row in quants], [row["kl"] for row in quants])
    assert len(quants) == 9 and line.slope == pytest.approx(-1.903, abs=0.001) and line.r == pytest.approx(-0.992, abs=0.001)
    assert line.factor == pytest.approx(3.74, abs=0.01)
