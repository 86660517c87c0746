"""`ironlaw coverage`: shares that add up, what is not covered, and errors with the next step."""

import json
from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest

from ironlaw import workload
from ironlaw.cli import coverage as command
from ironlaw.registry.corpus_signatures import corpus

SOME = 60  # signatures: a command in a test takes no seconds


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(command, "corpus", partial(corpus, most=SOME))


def test_every_measured_machine_by_default(sh):
    told = sh.json("coverage")
    assert [machine["hardware"] for machine in told["machines"]] == ["h200_sxm", "neoverse_n1_2core"]
    for machine in told["machines"]:
        assert sum(machine["shares"].values()) == pytest.approx(1.0)
        assert machine["operators"] + machine["unpredicted"] == SOME
        beyond = sum(machine["shares"][place] for place in ("near", "outside", "unknown"))
        assert sum(family["share"] for family in machine["uncovered"]) <= beyond + 1e-9


def test_families_come_heaviest_first_with_examples(sh):
    (machine,) = sh.json("coverage", "--on", "neoverse_n1_2core", "--families", "50")["machines"]
    shares = [family["share"] for family in machine["uncovered"]]
    assert shares == sorted(shares, reverse=True) and len(shares) > 1
    assert all(family["examples"] and family["outside"] <= family["share"] + 1e-12 for family in machine["uncovered"])
    assert all("→" in example["shape"] for family in machine["uncovered"] for example in family["examples"])


def test_the_table_says_what_the_json_says(sh):
    out = sh.out("coverage", "--on", "h200_sxm", "--families", "1")
    (machine,) = sh.json("coverage", "--on", "h200_sxm", "--families", "1")["machines"]
    assert "h200_sxm" in out and "inside" in out and machine["uncovered"][0]["kind"] in out


def test_fp32_and_training_are_read_from_the_same_corpus(sh):
    half, wide, trained = (sh.json("coverage", "--on", "h200", *more) for more in ((), ("--dtype", "fp32"), ("--training",)))
    assert len({json.dumps(told["machines"][0]["shares"]) for told in (half, wide, trained)}) == 3


def test_a_machine_without_a_calibration_is_refused(sh):
    code, _, err = sh("coverage", "--on", "t4")
    assert code == 2 and "t4 was not measured" in err and "h200_sxm" in err


def test_batches_and_modes_of_a_model_side_by_side(sh, monkeypatch):
    def capture_all(args):
        return SimpleNamespace(graphs={(n, "own"): workload("resnet50", batch=n, dtype="fp16") for n in args.batch})

    monkeypatch.setattr(command, "capture_all", capture_all)
    argv = ("coverage", "my.py:net", "--on", "h200,neoverse_n1_2core")
    told = sh.json(*argv, "--batch", "1,8", "--mode", "eager,compiled")
    cases = [(one["batch"], one["hardware"], one["mode"]) for one in told["machines"]]
    assert cases == list(product((1, 8), ("h200_sxm", "neoverse_n1_2core"), ("eager", "compiled"))) and told["mode"] == "eager,compiled"
    alone = sh.json(*argv, "--batch", "8", "--mode", "compiled")
    assert [one for one in told["machines"] if (one["batch"], one["mode"]) == (8, "compiled")] == alone["machines"]
    assert all(abs(sum(one["shares"].values()) - 1) < 1e-9 for one in told["machines"])
    out = sh.out(*argv, "--batch", "1,8", "--mode", "eager,compiled", "--families", "1")
    assert "h200_sxm, batch 8, compiled" in out and "batch" not in sh.out(*argv, "--batch", "8", "--families", "1").partition("\n")[2]


def test_what_the_corpus_can_not_be_asked(sh):
    for more, words in ((("--batch", "8"), "leave --batch out"), (("--mode", "eager,graphs"), "replay the kernels")):
        code, _, err = sh("coverage", *more)
        assert code == 2 and words in err


def test_the_corpus_is_not_compiled(sh):
    code, _, err = sh("coverage", "--mode", "compiled")
    assert code == 2 and "leave --mode out" in err


def test_a_format_that_the_corpus_has_not(sh):
    code, _, err = sh("coverage", "--dtype", "int8")
    assert code == 2 and "fp16, bf16, fp32" in err
