"""`ironlaw queue`: formulas where there are some, a simulation where not, and what to write instead of bad input."""

import math

import pytest

from ironlaw.engine.serving.queues import md1, mmc


def test_one_server_and_a_fixed_service(sh):
    told = sh.json("queue", "--rate", "160", "--service", "5 ms")
    row = told["rates"][0]
    assert (row["mean_s"], row["p99_s"]) == pytest.approx((15e-3, 56.779e-3), rel=1e-4)
    assert (row["load"], row["busy"], row["in_flight"]) == pytest.approx((0.8, 0.8, 2.4)) and told["method"] == "exact"
    out = sh.out("queue", "--rate", "160", "--service", "5 ms")
    assert "56.8 ms" in out and "80%" in out and "one request at a time" in out


def test_eight_servers_on_one_line(sh):
    told = sh.json("queue", "--rate", "7.2", "--service", "1 s", "--spread", "exponential", "--servers", "8", "--target", "7.5 s")
    assert told["rates"][0]["p99_s"] == pytest.approx(7.087, abs=5e-4)
    rate = told["target"]["rate"]
    assert mmc(rate * 0.99, 1.0, 8).quantile(0.99) <= 7.5 and mmc(rate * 1.02, 1.0, 8).quantile(0.99) > 7.5
    alone = sh.json("queue", "--rate", "0.9", "--service", "1 s", "--spread", "exponential")
    assert alone["rates"][0]["p99_s"] == pytest.approx(10 * math.log(100))
    pooled = sh.json("queue", "--rate", "7.2", "--service", "1 s", "--servers", "8")
    assert pooled["method"] == "simulated" and 1.0 < pooled["rates"][0]["mean_s"] < told["rates"][0]["mean_s"]


def test_a_spread_that_only_gives_a_mean(sh):
    told = sh.json("queue", "--rate", "160", "--service", "5 ms", "--spread", "0.5")
    assert told["rates"][0]["mean_s"] == pytest.approx(5e-3 * (1 + 0.8 * 1.5 / 0.4)) and told["rates"][0]["p99_s"] is None
    assert "P99 would need the whole" in sh.out("queue", "--rate", "160", "--service", "5 ms", "--spread", "0.5")


def test_busy_all_the_time_and_hardly_loaded(sh):
    argv = (
        "queue",
        "--rate",
        "1000",
        "--rate",
        "10000",
        "--workload",
        "resnet50",
        "--on",
        "h200_sxm",
        "--mode",
        "compiled",
        "--batch",
        "64",
    )
    slow, fast = sh.json(*argv)["rates"]
    assert slow["busy"] > 0.98 and slow["load"] < 0.06 and slow["p99_s"] == pytest.approx(fast["p99_s"], rel=0.02)
    assert "picks up everyone waiting" in sh.out(*argv)


def test_policies_and_a_line_without_end(sh):
    base = ("queue", "--rate", "500", "--rate", "9000", "--times", "1:0.5 ms,32:3.6 ms", "--batch", "32")
    waiting, endless = sh.json(*base)["rates"]
    fixed, _ = sh.json(*base, "--policy", "fixed")["rates"]
    held, _ = sh.json(*base, "--policy", "timeout", "--timeout", "5 ms")["rates"]
    assert waiting["p99_s"] < held["p99_s"] < fixed["p99_s"] and fixed["batch"] == 32
    assert endless["mean_s"] is endless["p99_s"] is endless["in_flight"] is None
    assert endless["growth_per_s"] == pytest.approx(9000 - 32 / 3.6e-3)
    assert "unbounded" in sh.out(*base) and "grows by 111 requests per second" in " ".join(sh.out(*base).split())
    assert "exactly as fast as they are served" in " ".join(sh.out("queue", "--rate", "200", "--service", "5 ms").split())


def test_one_at_a_time_from_a_table_of_batches_is_exact(sh):
    told = sh.json("queue", "--rate", "100", "--times", "1:5 ms,8:6 ms")
    assert told["method"] == "exact" and told["rates"][0]["p99_s"] == pytest.approx(md1(100, 5e-3).quantile(0.99))


def test_a_target_that_no_rate_meets(sh):
    assert sh.json("queue", "--rate", "10", "--service", "50 ms", "--target", "40 ms")["target"]["rate"] == 0
    assert "at any rate" in sh.out("queue", "--rate", "10", "--service", "50 ms", "--target", "40 ms")
    assert "up to" in sh.out("queue", "--rate", "10", "--service", "50 ms", "--target", "400 ms")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--times", "1:1 ms,1:2 ms"), "two times for a batch of 1"), (("--service", "1", "--batch", "8"), "how long a batch takes"),
        ((), "needs one of --service"), (("--service", "1", "--times", "1:1"), "needs only one of"),
        (("--service", "1", "--batch", "4"), "--times"),
        (("--times", "1:1,4:2", "--spread", "fixed"), "leave it out"), (("--workload", "resnet50"), "--on h200_sxm"),
        (("--service", "1", "--on", "h200_sxm"), "go together"), (("--service", "1", "--policy", "timeout"), "--timeout '5 ms'"),
        (("--service", "1", "--timeout", "1"), "--policy timeout"), (("--times", "4:2"), "batch of 1"), (("--times", "x"), "64:3.6 ms"),
        (("--times", "1:0"), "above 0"), (("--times", "1:1", "--batch", "8"), "8:9 ms"),
        (("--service", "1", "--spread", "much"), "exponential"),
        (("--service", "1", "--spread", "-1"), "at least 0"), (("--service", "1", "--spread", "0.5", "--servers", "2"), "--spread fixed"),
        (("--service", "0.1", "--spread", "0.5", "--target", "1"), "--spread fixed"),
        (("--workload", "nothing", "--on", "h200_sxm"), "nothing"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_write(sh, argv, words):
    code, _, told = sh("queue", "--rate", "2", *argv)
    assert code == 2 and words in told
