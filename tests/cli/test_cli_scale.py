"""`ironlaw scale`: Amdahl from a share, a share from a point, both figures of the Universal Scalability Law from several."""

import pytest

from ironlaw.engine.scaling.usl import usl

POINTS = ",".join(f"{n}:{usl(n, 0.05, 0.001):.6f}" for n in (2, 4, 8, 16, 32, 64))


def test_from_a_share(sh):
    told = sh.json("scale", "--serial", "15%", "--workers", "1,64")
    assert [row["speedup"] for row in told["workers"]] == pytest.approx([1.0, 6.1244], abs=5e-5)
    assert told["workers"][1]["serial_share_of_this_run"] == pytest.approx(0.9187, abs=1e-4)
    assert told["ceiling"] == pytest.approx(1 / 0.15) and told["best_workers"] is None and told["basis"] == "given"
    assert told["sigma_interval"] is None and "target" not in told
    out = sh.out("scale", "--serial", "0.15", "--workers", "64")
    assert "6.12×" in out and "6.67×, however many workers" in out


def test_two_workers_say_what_sixty_four_do(sh):
    told = sh.json("scale", "--speedups", "2:1.8", "--workers", "64", "--target", "12")
    assert told["workers"][0]["speedup"] == pytest.approx(8.0) and told["sigma"] == pytest.approx(1 / 9) and told["basis"] == "one point"
    assert told["target"] == {"speedup": 12.0, "workers": None, "at": 64, "halvings": 1.0}
    assert "Halve the serial share once, and 64 workers" in " ".join(
        sh.out("scale", "--speedups", "2:1.8", "--workers", "64", "--target", "12").split()
    )
    again = sh.json("scale", "--speedups", "2:1.7,2:1.9")  # the mean of both
    assert again["sigma"] == pytest.approx(1 / 9)


def test_a_fit_gives_both_figures_back_and_says_how_sure(sh):
    told = sh.json("scale", "--speedups", POINTS, "--workers", "31,128")
    assert (told["sigma"], told["kappa"]) == pytest.approx((0.05, 0.001), rel=1e-3) and told["best_workers"] == 31
    assert told["sigma_interval"][0] <= told["sigma"] <= told["sigma_interval"][1] and told["worst_misfit"] < 1e-5
    assert [row["extrapolated"] for row in told["workers"]] == [False, True]
    assert [point["karp_flatt"] for point in told["points"]] == pytest.approx([0.05 + 0.001 * n for n in (2, 4, 8, 16, 32, 64)], rel=1e-3)
    out = sh.out("scale", "--speedups", POINTS, "--workers", "128")
    assert "31 workers, 9.04× as fast; more workers are slower" in out and "95%" in out


def test_times_are_speedups_over_one_worker(sh):
    told = sh.json("scale", "--times", "1:1.5 min,2:50 s,4:30")
    assert [point["speedup"] for point in told["points"]] == pytest.approx([1.0, 1.8, 3.0])
    assert "a third would show" in sh.out("scale", "--times", "1:90,2:50,4:30")
    assert "better than linear" in sh.out("scale", "--speedups", "2:2.2,4:3.9")


@pytest.mark.parametrize(
    ("options", "workers", "halvings", "words"),
    [
        (("--serial", "1%", "--target", "8", "--workers", "64"), 9, 0, "9 workers"),
        (("--serial", "0", "--target", "1", "--workers", "1"), 1, None, "1 worker"),
        (("--serial", "10%", "--target", "80", "--workers", "64"), None, None, "out of reach: on 64 workers"),
        (("--serial", "5%", "--crosstalk", "0.001", "--target", "8.9", "--workers", "64"), 25, 1, "25 workers"),
        (("--serial", "5%", "--crosstalk", "0.001", "--target", "9.5", "--workers", "64"), None, 1, "Halve the serial share once"),
        (("--serial", "10%", "--target", "50", "--workers", "64"), None, 5, "Halve the serial share 5 times"),
    ],
)
def test_a_target(sh, options, workers, halvings, words):
    told = sh.json("scale", *options)["target"]
    assert (told["workers"], told["halvings"]) == (workers, halvings)
    assert words in " ".join(sh.out("scale", *options).split())


def test_the_fewest_workers_with_crosstalk_are_the_fewest(sh):
    fewest = sh.json("scale", "--serial", "5%", "--crosstalk", "0.001", "--target", "8.9")["target"]["workers"]
    assert usl(fewest, 0.05, 0.001) >= 8.9 > usl(fewest - 1, 0.05, 0.001)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "needs one of --serial"), (("--serial", "1%", "--speedups", "2:1.8"), "only one"), (("--serial", "15"), "from 0 to 1"),
        (("--serial", "much"), "0.15 or 15%"), (("--crosstalk", "x", "--serial", "0"), "from 0 to 1"),
        (("--crosstalk", "2", "--serial", "0"), "from 0 to 1"),
        (("--crosstalk", "0.1", "--speedups", "2:1.8"), "leave it out"), (("--speedups", "2"), "2:1.8"), (("--speedups", "0:1"), "2:1.8"),
        (("--speedups", ","), "2:1.8,4:2.9"), (("--times", " "), "1:95,2:51"), (("--times", "1:95,2:0"), "above 0"),
        (("--times", "2:51"), "1:95"), (("--speedups", "1:2,2:3"), "one worker is always 1"),
        (("--times", "1:95,2:much"), "much"), (("--speedups", "1:1"), "2:1.8"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_write(sh, argv, words):
    code, _, told = sh("scale", *argv)
    assert code == 2 and words in told
