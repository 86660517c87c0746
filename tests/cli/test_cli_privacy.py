"""`ironlaw privacy`: the example's figures against what Opacus 1.6.0 has for it, promises on both sides, and bad designs."""

import pytest

from ironlaw.cli.privacy import DESIGN


@pytest.fixture
def design(tmp_path):
    def write(old: str = "", new: str = "") -> str:
        assert old in DESIGN
        place = tmp_path / "design.toml"
        place.write_text(DESIGN.replace(old, new) if old else DESIGN, encoding="utf-8")
        return str(place)

    return write


def test_the_example_is_a_design(sh, design):
    assert sh.out("privacy", "--example") == DESIGN
    told = sh.json("privacy", design())
    assert (told["steps"], told["delta"], told["runs"]) == (14_062, 1e-5, 1) and told["promise"]["met"]
    epsilons = {row["name"]: row["epsilon"] for row in told["accountants"]}
    assert epsilons == pytest.approx({"basic": 5445.5, "advanced": 2845.0, "moments": 3.0083, "rdp": 2.5966, "gdp": 2.3243}, rel=1e-4)
    assert [row["bound"] for row in told["accountants"]] == [True, True, True, True, False]
    out = sh.out("privacy", design())
    assert "ε ≤ 3 is met: 87%" in out and "an estimate, not a bound" in out and "order 8.1" in out and "at most 93%" in out


def test_a_broken_promise_is_1_and_says_what_would_keep_it(sh, design):
    code, out, _ = sh("privacy", design("epsilon = 3.0", "epsilon = 2.0"))
    assert code == 1 and "is exceeded: 130% of it spent" in out
    _, told, _ = sh("privacy", design("epsilon = 3.0", "epsilon = 2.0"), "--json")
    noise = told.split('"noise_needed": ')[1].split(",")[0]
    assert sh.json("privacy", design("noise = 1.1 ", f"noise = {noise}"))["epsilon"] <= 2.0
    told = sh("privacy", design("epsilon = 3.0", "epsilon = 1e-6"), "--json")
    assert told[0] == 1 and '"noise_needed": null' in told[1]
    assert "no noise multiplier is proven to be enough" in sh("privacy", design("epsilon = 3.0", "epsilon = 1e-6"))[1]


def test_tuning_runs_count(sh, design):
    one, ten = sh.json("privacy", design()), sh("privacy", design("runs = 1", "runs = 10"), "--json")
    assert ten[0] == 1 and '"steps": 140620' in ten[1] and one["steps"] == 14_062
    assert "in 10 runs" in sh("privacy", design("runs = 1", "runs = 10"))[1]


def test_without_a_promise(sh, design):
    told = sh.json("privacy", design(DESIGN[DESIGN.index("[promise]") :], ""))
    assert told["promise"] is None and told["delta"] == pytest.approx(1 / 600_000)
    assert "promise" not in sh.out("privacy", design(DESIGN[DESIGN.index("[promise]") :], ""))


def test_a_delta_that_allows_a_whole_record_is_pointed_out(sh, design):
    told = sh("privacy", design("delta = 1e-5", "delta = 1e-4"))[1]
    assert "not below one over the 60,000 records" in " ".join(told.split())
    assert sh.json("privacy", design("delta = 1e-5", "delta = 1e-4"))["delta_below_one_record"] is False


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("noise = 1.1 ", "noise = -1 ", "noise in [training]"), ("noise = 1.1 ", "noise = 0.001 ", "0.01 or more"),
        ("epochs = 60 ", "# ", "one of epochs and steps"), ("epochs = 60 ", "epochs = 60\nsteps = 5 ", "one of epochs and steps"),
        ("batch = 256 ", "batch = 70_000 ", "is larger than the"), ("batch = 256 ", "batch = 2.5 ", "whole number"),
        ("batch = 256 ", "# ", "batch = 256"), ("noise = 1.1 ", "nois = 1.1 ", "did you mean noise"),
        ("[data]", "[date]", "did you mean data"),
        ("[data]\nrecords = 60_000", "", "records = 60_000"), ("delta = 1e-5", "delta = 2", "between 0 and 1"),
        ("noise = 1.1 ", 'noise = "much" ', "not a number"), ("[data]", "[data", "fix the TOML"),
        ("runs = 1", "runs = true", "whole number"),
    ],
)  # fmt: skip
def test_a_bad_design_is_refused_by_name(sh, design, old, new, words):
    code, out, err = sh("privacy", design(old, new))
    assert (code, out) == (2, "") and words in err


def test_no_file_or_two_requests(sh, design, tmp_path):
    for argv, words in (((), "--example > design.toml"), ((tmp_path / "none.toml",), "no file"), ((tmp_path,), "is a folder")):
        code, _, err = sh("privacy", *argv)
        assert code == 2 and words in err
    assert "can't be combined" in sh("privacy", design(), "--example")[2]
