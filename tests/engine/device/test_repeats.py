"""The turns of a loop are known by what they run; layers that are alike are no loop."""

from ironlaw.engine.device.repeats import first_turns, in_one_pass


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


def test_what_microbatches_share_counts_as_often_as_one_runs_it():
    """Each but the first adds its gradients (g); a layer that runs twice in a pass is compiled as two."""
    keys = list("ffb" + "ffbg" * 3 + "o")
    counted = [key for key, one in zip(keys, in_one_pass(keys, 4), strict=True) if one]
    assert counted == list("ffbgo")
    assert all(in_one_pass(list("ffffo"), 1))
