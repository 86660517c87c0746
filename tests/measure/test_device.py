"""A backend answers all that is asked of every one, or it can't be made."""

import pytest

from ironlaw.measure.devices.device import Backend

ANSWERS = {
    "threads": lambda self: 4,
    "gemm": lambda self, fmt, n: lambda: None,
    "stream": lambda self, op, numel: lambda: None,
    "launches": lambda self: {},
}


def test_with_every_answer_it_can_be_made():
    made = type("Whole", (Backend,), dict(ANSWERS))("mine", "mps")
    assert (made.threads(), made.library, made.queued) == (4, "mine", True)
    # what not every library can do says so, and is left out of the measurement
    call = made.reference()
    assert list(made.cases()) == made.busy([call]) == []
    assert made.replay(call, 3) is made.spread_stream(8) is made.memory() is None


@pytest.mark.parametrize("name", ANSWERS)
def test_with_one_left_out_it_can_not(name):
    half = type("Half", (Backend,), {key: answer for key, answer in ANSWERS.items() if key != name})
    with pytest.raises(TypeError, match=f"abstract.*{name}"):
        half()
