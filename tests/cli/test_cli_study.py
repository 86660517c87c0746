"""`ironlaw study`: a file in, a table and Parquet out."""

from __future__ import annotations

import json
import shlex

import pytest

from ironlaw.cli.study import EXAMPLE
from ironlaw.studies.study_questions import QUESTIONS

FILE = """
[study]
question = "predict"
[over]
model = "mlp8_1024"
hardware = ["t4", "h100"]
batch = { from = 1, to = 4, times = 2 }
dtype = ["fp16", "bf16"]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "study.toml"
    place.write_text(FILE)
    return place


def test_a_study_is_run_shown_and_not_run_again(sh, file):
    code, out, _ = sh("study", file, "--jobs", "1", "--by", "samples_per_s", "--top", "2")
    assert code == 0 and "12 points" in out and "12 computed now" in out and "study.results/results.parquet" in out
    assert "All with model mlp8_1024." in out
    assert "9 points answered, best by samples_per_s (high is better); 3 refused" in out and "3 points: " in out  # a T4 has no BF16
    told = sh.json("study", "--show", file.with_suffix(".results"), "--by", "samples_per_s", "--top", "2")
    assert (told["points"], told["answered"], told["refused"], told["failed"]) == (12, 9, 3, 0)
    assert told["vary"] == [
        "hardware",
        "dtype",
        "batch",
    ]
    assert [row["batch"] for row in told["best"]] == [4, 4] and told["best"][0]["hardware"] == "h100_sxm"
    code, out, _ = sh("study", file, "--jobs", "1", "--json")
    assert code == 0 and json.loads(out)["computed"] == 0 and json.loads(out)["by"] == "seconds"
    assert "computes them again" not in sh("study", file, "--jobs", "1")[1]


def test_times_of_different_kinds_say_so(sh, file):
    grounds = {}
    for other in ("t4", "h200"):
        file.write_text(FILE.replace("t4", other).replace('["fp16", "bf16"]', '"fp16"').replace("{ from = 1, to = 4, times = 2 }", "1"))
        grounds[other] = sh("study", file, "--jobs", "1", "--out", other)[1]
    assert "calibrated" in grounds["h200"] and "order is not sure" in " ".join(grounds["h200"].split())
    assert "not sure" not in " ".join(grounds["t4"].split())


def test_questions_are_listed_with_what_they_take(sh):
    assert all(name in sh.out("study", "--questions") for name in QUESTIONS)
    told = {one["question"]: one for one in sh.json("study", "--questions")["questions"]}
    assert set(told) == set(QUESTIONS)
    by_name = {one["name"]: one for one in told["predict"]["parameters"]}
    assert by_name["model"]["required"] and "resnet50" in by_name["model"]["values"] and by_name["mode"]["default"] == "eager"


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_file_to_begin_with_is_one(sh, name):
    import tomllib

    from ironlaw.studies.study_file import study

    made = study(tomllib.loads(sh.out("study", "--questions", name).partition("to start from:\n")[2]))
    assert made.question is QUESTIONS[name] and made.points >= 4


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "give one of FILE.toml, --show FOLDER and --questions"),
        (("study.toml", "--show", "x"), "not FILE.toml and --show"),
        (("study.toml", "--by", "secnds"), "did you mean seconds"),
        (("study.toml", "--by", "basis"), "no result of the question predict to rank by 'basis'"),
        (("study.toml", "--most", "5"), "12 points, more than 5"),
        (("study.toml", "--jobs", "2", "--dask", "tcp://x:1"), "not allowed with argument"),
        (("--show", "nowhere"), "is not a study's folder"),
        (("--questions", "lay_out"), "did you mean layout"),
        (("nowhere.toml",), "there is no file nowhere.toml"),
    ],
)
def test_what_cannot_be_asked(sh, file, argv, words):
    code, out, err = sh("study", *argv)
    assert (code, out) == (2, "") and words in err
    assert [path.name for path in file.parent.iterdir()] == ["study.toml"]


def test_nothing_answered_is_1(sh, file):
    file.write_text(FILE.replace('["t4", "h100"]', '"t4"').replace('"fp16", ', ""))
    code, out, _ = sh("study", file, "--jobs", "1")
    assert code == 1 and "0 points answered" in out and "3 refused" in out


def test_the_examples_work(sh, file):
    lines = [shlex.split(line)[1:] for line in EXAMPLE.strip().splitlines()]
    for argv in lines:
        if "--dask" not in argv:  # tests/slow has a cluster
            code, out, _ = sh(*argv, *(["--jobs", "1", "--by", "samples_per_s"] if "study.toml" in argv else []))
            assert code == 0 and out
