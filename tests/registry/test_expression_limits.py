"""What an expression may not compute at once: refused before it is computed, with what to do."""

import pytest

from ironlaw.claims import expression_limits as limits
from ironlaw.claims.expression_limits import MOST_BITS, MOST_ITEMS, call, dot, plus, power, rest, times


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda: power(2, MOST_BITS), "is too large; write it with floats, such as"),
        (lambda: times(1 << MOST_BITS, 3), "a product is too large; write it with floats"),
        (lambda: times("ab", MOST_ITEMS), "a list or text would be repeated to more than"),
        (lambda: times(MOST_ITEMS, [1, 2]), "a list or text would be repeated to more than"),
        (lambda: plus([0] * MOST_ITEMS, [1]), "a list or text would have more than"),
        (lambda: rest("%9d", 3), "% is for numbers"),
        (lambda: call(range, MOST_ITEMS + 1), "a range of more than"),
        (lambda: call(sum, [[1], [2]], []), "sum adds numbers"),
        (lambda: call(round, 0.5, 301), "round takes at most 300 digits"),
        (lambda: call("x".replace, "x", "y" * (MOST_ITEMS + 1)), limits.TOO_LONG),
        (lambda: call(("y" * 1000).join, ["x"] * (MOST_ITEMS // 1000 + 1)), limits.TOO_LONG),
        (lambda: call(law(), limits.MOST_COUNT + 1, 0.5), "which would be counted one by one"),
        (lambda: call(law(), 0.5, servers=-limits.MOST_COUNT - 1), "which would be counted one by one"),
        (lambda: dot((1).real, "numerator_"), "the attribute 'numerator_' of a int is not allowed"),
        (lambda: dot(int, "__bases__"), "attributes of a type are not allowed in an expression"),
        (lambda: dot(Exception(), "args"), "attributes of a Exception are not allowed in an expression"),
    ],
)
def test_what_is_too_much_is_refused_before_it_is_computed(compute, words):
    with pytest.raises(ValueError, match=words):
        compute()


def law():
    def waits(servers: int, load: float) -> float:
        return load / servers

    waits.__module__ = "ironlaw.engine.serving.sums"
    return waits


def test_what_is_within_the_limits_is_what_python_computes():
    assert power(2, 10) == 1024 and times(3, 4) == 12 and times("ab", 2) == "abab" and times(2, 0.5) == 1.0 and plus([1], [2]) == [1, 2]
    assert rest(7, 4) == 3 and call(range, 3) == range(3) and call("-".join, ["a", "b"]) == "a-b" and call("aXa".replace, "X", "b") == "aba"
    assert call(law(), 4, 2.0) == 0.5 and call(sum, [1, 2], 3) == 6 and call(max, 1, 2) == 2
