"""An act is done once, however often its state is computed."""

import pytest

from ironlaw.widget.acts import ActCounter


def test_an_act_counts_once():
    acts = ActCounter()
    assert not acts.advanced({"act": 0})
    assert acts.advanced({"act": 1})
    assert not acts.advanced({"act": 1})
    assert acts.advanced({"act": 3}), "acts that were passed over are not done again"
    assert not acts.advanced({"act": 2})


@pytest.mark.parametrize("count", [None, True, "1", 1.5, [], -1])
def test_what_is_not_a_count_is_not_an_act(count):
    assert not ActCounter("commit").advanced({"commit": count})
    assert not ActCounter("commit").advanced({"act": 1})
