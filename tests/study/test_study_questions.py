"""Every question answers what it says, with the figures of the command that asks the same."""

from __future__ import annotations

import pytest

import ironlaw as il
from ironlaw.engine.device.machine import Plan
from ironlaw.studies.study_file import study
from ironlaw.studies.study_questions import QUESTIONS
from ironlaw.studies.study_rows import answer, key, ranked

POINTS = {
    "predict": {"model": "resnet50", "hardware": "t4", "batch": 4, "mode": "compiled"},
    "memory": {"model": "gpt2", "hardware": "rtx_4090", "batch": 8, "seq": 256, "recipe": "mixed", "checkpoint": "all"},
    "layout": {"model": "gpt3_175b", "box": "dgx_a100", "devices": 512, "batch": 512, "seq": 2048, "tensor": 8, "pipeline": 8},
    "serving": {"model": "llama3_2_1b", "hardware": "h200_sxm", "rate": 5, "requests": 200, "budget": 1024},
    "capacity": {"model": "llama3_2_1b", "hardware": "h200_sxm", "rate": 5, "requests": 60, "engine": "vllm", "tpot": 0.03, "tp": 1},
    "cluster": {"model": "llama3_8b", "devices": 8, "box": "dgx_h100", "batch_tokens": "1M", "seq": 8192},
}  # fmt: skip


def rows(name, **over):
    made = study({"study": {"question": name}, "over": POINTS[name] | over})
    return made.question, answer(name, [(key(made.question, point), point) for point in made])


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_answers_its_point(name):
    asked, (row,) = rows(name)
    assert row["error"] is None and not row["failed"]
    assert all(row[one.name] is not None for one in asked.results)
    assert not {one.name for one in asked.results} & {one.name for one in asked.parameters}
    assert asked.result(asked.by).better and (not asked.needs or isinstance(row[asked.needs], bool))


def test_a_prediction_is_that_of_the_engine():
    _, (row,) = rows("predict")
    p = il.predict(il.workload("resnet50", batch=4), il.hardware("t4"), Plan("compiled"))
    assert row["seconds"] == p.seconds and (row["low_s"], row["high_s"]) == p.interval
    assert row["samples_per_s"] == pytest.approx(4 / p.seconds) and row["basis"] == p.basis


def test_memory_is_that_of_the_command(capsys):
    import json

    from ironlaw.cli import main

    _, (row,) = rows("memory")
    assert (
        main(["memory", "gpt2", "--batch", "8", "--seq", "256", "--recipe", "mixed", "--checkpoint", "all", "--on", "rtx_4090", "--json"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (row["peak_bytes"], row["kept_bytes"], row["static_bytes"]) == (told["peak_bytes"], told["kept_bytes"], told["static_bytes"])
    assert row["headroom_bytes"] == told["machines"][0]["headroom_bytes"] and row["fits"] == told["machines"][0]["fits"]


def test_a_layout_is_that_of_the_command(capsys):
    import json

    from ironlaw.cli import main

    _, (row,) = rows("layout")
    argv = [
        "cluster",
        "gpt3_175b",
        "--devices",
        "512",
        "--box",
        "dgx_a100",
        "--batch-tokens",
        "1M",
        "--seq",
        "2048",
        "--layout",
        "tp=8,pp=8",
    ]
    assert main([*argv, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["layouts"]
    for name in ("step_s", "mfu", "tokens_per_s", "memory_bytes", "fits", "data"):
        assert row[name] == told[name]
    assert row["bubble_s"] == told["parts_s"]["bubble"]


def test_serving_is_that_of_the_command(capsys):
    import json

    from ironlaw.cli import main

    _, (row,) = rows("serving")
    argv = ["serve", "llama3_2_1b", "--on", "h200", "--rate", "5", "--requests", "200", "--tp", "1", "--budget", "1024", "--json"]
    assert main(argv) == 0
    (told,) = json.loads(capsys.readouterr().out)["choices"]
    assert (told["replicas"], row["kept"], row["total_devices"]) == (1, True, 1)
    assert row["ttft_s"] == told["ttft_s"]["promised"] and row["tbt_p50_s"] == told["tbt_s"]["p50"]
    for name in ("tokens_per_s", "goodput_per_s", "batch", "busy", "cache_peak", "preempted"):
        assert row[name] == told[name]
    assert row["hours_per_million"] == told["device_hours_per_million_tokens"]


def test_serving_puts_requests_together_as_asked():
    usual = rows("serving")[1][0]
    for over in ({"scheduling": "static"}, {"chunked": False}, {"prefix": 300}, {"speculate": 4, "most": 64}, {"prompt_replicas": 1}):
        (row,) = rows("serving", **over)[1]
        assert row["error"] is None and (row["ttft_s"], row["tbt_s"]) != (usual["ttft_s"], usual["tbt_s"])
        assert row["total_devices"] == 1 + over.get("prompt_replicas", 0)
    (row,) = rows("serving", speculate=4, most=64, acceptance=2)[1]
    assert "between 0 and 1" in row["error"]


def test_serving_takes_a_trace_or_a_rate_and_says_what_breaks_a_promise():
    _, (row,) = rows("serving", rate=400, requests=400)
    assert not row["kept"] and row["binds"] and row["goodput_per_s"] < 400
    made = study(
        {"study": {"question": "serving"}, "over": {"model": "llama3_2_1b", "hardware": "h200", "requests": 50, "trace": "azure_code_2023"}}
    )
    (point,) = made
    (row,) = answer("serving", [("k", point)])
    assert row["error"] is None
    (row,) = answer("serving", [("k", point | {"trace": None})])
    assert "Give a rate or a trace" in row["error"]


def test_a_point_that_is_refused_says_why_and_leaves_the_others():
    asked, found = rows("layout", tensor=[8, 7])
    good, refused = found
    assert good["error"] is None and "512 devices can't be split into groups of" in refused["error"] and refused["failed"] is False
    assert refused["step_s"] is None and ranked(asked, found, "step_s") == [good]
    _, (row,) = rows("predict", dtype="bf16", model="gpt2")
    assert "bf16" in row["error"] and not row["failed"]  # a T4 has no such units


def test_a_fault_is_stored_as_one(monkeypatch):
    from dataclasses import replace

    def broken(point):
        raise ZeroDivisionError("oh")

    monkeypatch.setitem(QUESTIONS, "predict", replace(QUESTIONS["predict"], answer=broken))
    _, (row,) = rows("predict")
    assert (row["error"], row["failed"]) == ("ZeroDivisionError: oh", True)


def test_best_first_without_what_does_not_fit():
    asked, found = rows("predict", model="llama3_8b", hardware=["t4", "h100", "h200"], batch=1, mode="eager")
    best = ranked(asked, found, "seconds")
    assert {row["hardware"] for row in best} == {"h200_sxm", "h100_sxm"} and len(found) == 3  # a T4 does not hold it
    assert best[0]["seconds"] < best[1]["seconds"] and ranked(asked, found, "samples_per_s") == best


def test_the_commands_own_questions_answer_as_the_commands_do():
    _, (row,) = rows("capacity")
    told = il.capacity("llama3_2_1b", on="h200_sxm", rate=5, requests=60, engine="vllm", tpot=0.03, tp=1).choices[0]
    for name in ("devices", "replicas", "tokens_per_s", "largest_rate", "dollars_per_hour", "command", "basis"):
        assert row[name] == told[name]
    assert row["tpot_s"] == told["tpot_s"]["promised"] and row["tensor"] == told["layout"]["tensor"] and row["mean_batch"] == told["batch"]
    _, (row,) = rows("capacity", tpot=1e-6)
    assert row["devices"] is None and "per token even for a request that is alone" in row["error"] and not row["failed"]
    _, (row,) = rows("cluster")
    best = il.cluster("llama3_8b", devices=8, box="dgx_h100", batch_tokens="1M", seq=8192).best
    assert all(row[name] == best[name] for name in ("step_s", "mfu", "label", "tensor", "micro", "memory_bytes"))
