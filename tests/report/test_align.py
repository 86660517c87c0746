"""The longest common subsequence by Myers, against the plain table of lengths."""

from hypothesis import given
from hypothesis import strategies as st

from ironlaw.report.align import align

WORDS = st.lists(st.sampled_from("abc"), max_size=12)


def longest(a: list[str], b: list[str]) -> int:
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best[i + 1][j + 1] = best[i][j] + 1 if x == y else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


@given(WORDS, WORDS)
def test_pairs_are_equal_in_order_and_as_many_as_can_be(a: list[str], b: list[str]):
    pairs = align(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert pairs == sorted(set(pairs)) and len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == longest(a, b)


def test_one_extra_in_thousands_shifts_nothing():
    names = ["mm", "add", "norm"] * 1000
    more = [*names[:1500], "copy", *names[1500:]]
    assert align(names, more) == [(i, i + (i >= 1500)) for i in range(3000)]
