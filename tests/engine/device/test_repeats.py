"""The turns of a loop are known by what they run; layers that are alike are no loop."""

from ironlaw.engine.device.repeats import first_turns, new_in_pass


def counted(text: str) -> int:
    return sum(first_turns(list(text)))


def test_a_loop_counts_once():
    assert counted("abcd" * 30) == 4
    assert counted("xy" + "abcde" * 3 + "z") == 2 + 5 + 1
    assert counted("abcd" * 2 + "efgh" * 3) == 8
    assert first_turns(list("abcdabcd")) == [True] * 4 + [False] * 4


def test_what_is_no_loop_counts_in_full():
    for text in ("", "a", "aaaa", "ababab", "abcdef", "abcdxabcd"):
        assert counted(text) == len(text), text


def test_a_turn_that_differs_in_its_first_op_is_a_turn_from_the_second_on():
    assert counted("xbcde" + "abcde" * 3) == 5 + 5


def test_a_later_microbatch_counts_what_no_earlier_one_ran():
    """Each but the first adds its gradients (g); a layer that runs twice in a pass is compiled as two."""
    keys, passes = list("ffb" + "ffbg" * 3 + "o"), [0] * 3 + [1] * 4 + [2] * 4 + [3] * 4 + [4]
    counted = [key for key, new in zip(keys, new_in_pass(keys, passes), strict=True) if new]
    assert counted == list("ffbgo")
    assert all(new_in_pass(list("ffffo"), [0] * 5))
