"""A page shows a refusal beside its control: the setting is named."""

import pytest

from ironlaw.engine.serving.hedging import hedging_run
from ironlaw.engine.serving.line import ranked, simulate
from ironlaw.engine.serving.queues import erlang_b, kingman, little, mm1, mmc
from ironlaw.engine.serving.tails import fan_out_quantile, normal_quantile
from ironlaw.errors import BadValue


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda: mmc(1, 1, 0), "servers"), (lambda: mm1(0.5, 1).quantile(1.0), "p"), (lambda: simulate([0], [1], order="best"), "order"),
        (lambda: simulate([0], [1], 0), "servers"), (lambda: simulate([0, 1], [1]), "services"), (lambda: simulate([0], [-1]), "services"),
        (lambda: simulate([1, 0], [1, 1]), "arrivals"), (lambda: ranked([1], 1.0), "p"), (lambda: fan_out_quantile(0.0, 2), "p"),
        (lambda: normal_quantile(1.0), "p"), (lambda: hedging_run(0.5, n=10, works=[1.0]), "works"),
    ],
)  # fmt: skip
def test_the_setting_that_is_refused_is_named(ask, field):
    with pytest.raises(BadValue) as refused:
        ask()
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: little(rate=0, seconds=1), "^rate is 0;"),
        (little, "^little got nothing; give two"),
        (lambda: little(rate=2.0), "^little got rate; give two"),
        (lambda: mm1(-1, 1), "^rate is -1;"),
        (lambda: mm1(1, -1), "^service is -1;"),
        (lambda: erlang_b(2, -1), "^offered is -1;"),
        (lambda: kingman(1, 0.5, -1, 0), "^ca2 is -1;"),
        (lambda: kingman(1, 0.5, 0, -1), "^cs2 is -1;"),
        (lambda: simulate([1, 0], [1, 1]), "^arrivals go back in time; sort them$"),
        (lambda: simulate([0], [-1]), "^a service time is negative.* at least 0$"),
    ],
)  # fmt: skip
def test_what_a_refusal_says(ask, words):
    with pytest.raises(BadValue, match=words):
        ask()
