"""SplitMix64 against its published values, and each distribution against its moments and SciPy's distribution functions."""

import math
import statistics

import pytest
from scipy import stats

from ironlaw.engine import streams
from ironlaw.errors import BadValue

N = 20_000


def test_the_published_values_of_splitmix64():
    assert streams.integers(0, 3) == (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    assert streams.integers(1234567, 5) == (
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "law"),
    [
        (streams.uniform(3, N), stats.uniform()),
        (streams.exponential(4, N, 5.0), stats.expon(scale=0.2)),
        (streams.normal(5, N), stats.norm()),
        (streams.lognormal(6, N, 2.0, 0.8), stats.lognorm(0.8, scale=2.0 * math.exp(-0.32))),
    ],
    ids=["uniform", "exponential", "normal", "lognormal"],
)
def test_a_stream_follows_its_law(numbers, law):
    error = law.std() / math.sqrt(N)
    assert abs(statistics.fmean(numbers) - law.mean()) < 4 * error
    assert stats.kstest(numbers, law.cdf).pvalue > 0.01
    assert len(numbers) == N


def test_mean_and_variance_of_a_hundred_thousand_draws():
    draws = streams.exponential(0, 100_000, 2.0)
    assert statistics.fmean(draws) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(1e5))
    assert statistics.pvariance(draws) == pytest.approx(0.25, abs=4 * 0.25 * math.sqrt(8 / 1e5))


def test_a_longer_stream_begins_like_a_shorter_one():
    for stream in (streams.integers, streams.uniform, streams.exponential, streams.normal, streams.lognormal):
        assert stream(9, 12)[:7] == stream(9, 7) and stream(9, 7)[:5] == stream(9, 5)
        assert stream(9, 0) == ()


def test_split_streams_share_nothing():
    seeds = {streams.split(0, which) for which in range(50)}
    assert len(seeds) == 50
    assert streams.split(0, 1) == streams.integers(0, 2)[1]
    a, b = (streams.uniform(streams.split(7, which), 5000) for which in (0, 1))
    assert abs(stats.pearsonr(a, b).statistic) < 0.05 and not set(a) & set(b)


def test_the_longest_stream_is_given(monkeypatch):
    monkeypatch.setattr(streams, "LONGEST", 3)
    assert len(streams.integers(0, 3)) == 3


def test_a_longer_time_comes_of_a_larger_draw():
    draws, times = streams.normal(2, 200), streams.lognormal(2, 200, 3.0, 0.5)
    assert [math.log(time / 3.0) for time in times] == pytest.approx([0.5 * z - 0.125 for z in draws], abs=1e-12)
    assert streams.lognormal(2, 3, 3.0, 0.0) == pytest.approx([3.0] * 3)


def test_a_time_is_of_mean_one_where_nothing_is_said():
    assert streams.exponential(2, 9) == streams.exponential(2, 9, 1.0)
    assert streams.lognormal(2, 9) == streams.lognormal(2, 9, 1.0, 1.0)


@pytest.mark.parametrize("n", [-1, 10_000_001])
def test_a_length_that_no_stream_has_is_refused(n):
    with pytest.raises(BadValue, match="ask for 0 to 10,000,000") as refused:
        streams.integers(0, n)
    assert refused.value.field == "n"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: streams.exponential(0, 2, 0.0), "^rate is 0"), (lambda: streams.exponential(0, 2, math.nan), "^rate is nan"),
        (lambda: streams.lognormal(0, 2, -1.0), "^mean is -1"), (lambda: streams.lognormal(0, 2, 1.0, -1.0), "^sigma is -1"),
    ],
)  # fmt: skip
def test_what_no_time_is_drawn_from_is_refused(call, says):
    with pytest.raises(BadValue, match=says):
        call()
