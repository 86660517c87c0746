"""`ironlaw cluster`: layouts, traffic, failures and the next doubling; and what is refused."""

import json

import pytest

from ironlaw.cli import main
from ironlaw.cli.show import cluster_layouts, draw
from ironlaw.engine.cluster.failures import optimum
from ironlaw.engine.cluster.steps import step_time
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import runs
from ironlaw.systems.questions.cluster import OUTCOMES, read_tokens
from ironlaw.systems.training.shard_times import compute


def answer(capsys, *arguments: str) -> dict:
    assert main(["cluster", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_layouts_are_ranked_and_their_parts_add_up(capsys) -> None:
    result = answer(capsys, "llama3_8b", "--devices", "64", "--box", "dgx_h100", "--batch-tokens", "1M", "--top", "5")
    rows = result["layouts"]
    assert result["schema"] == "ironlaw-cluster/1" and len(rows) == 5 and result["batch"] * result["seq"] == 2**20
    assert [row["step_s"] for row in rows] == sorted(row["step_s"] for row in rows)
    for row in rows:
        assert row["tensor"] * row["pipeline"] * row["context"] * row["data"] == 64
        assert sum(row["parts_s"].values()) == pytest.approx(row["step_s"])
        assert sum(row["memory"].values()) == pytest.approx(row["memory_bytes"]) and row["memory_bytes"] <= result["usable_bytes"]
        assert row["tokens_per_s"] == pytest.approx(2**20 / row["step_s"])
    stops = result["failures"]
    assert stops["interval_s"] == pytest.approx(optimum(stops["save_s"], stops["mtbf_s"]))
    assert stops["save_s"] == pytest.approx(14 * result["parameters"] / 2e12)
    assert stops["goodput"] + stops["writing"] + stops["restart"] + stops["lost"] == pytest.approx(1)
    assert result["doubling"]["devices"] == 128 and 1 < result["doubling"]["speedup"] <= 2
    assert all(row["bytes"] > 0 and row["wire"] for row in result["traffic"])


def test_costs_of_training_by_hand(capsys) -> None:
    given = ("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--batch-tokens", "1M", "--layout", "tp=2")
    costs, stops = (answer(capsys, *given, "--price", "h100=2")[key] for key in ("costs", "failures"))
    assert costs["dollars_per_hour"] == 128 and costs["unpriced"] == []
    assert costs["dollars_per_million_tokens"] == pytest.approx(128 * 24 / stops["tokens_per_day"] * 1e6)
    assert costs["joules_per_million_tokens"] == pytest.approx(64 * 700 * 86400 / stops["tokens_per_day"] * 1e6)
    assert answer(capsys, *given)["costs"]["prices"]["h100_sxm"]["vendor"].startswith("RunPod")
    assert main(["cluster", *given[:4], "gb200_nvl72", *given[5:]]) == 0
    assert "no price is known; give one with --price gb200=…" in " ".join(capsys.readouterr().out.split())


def test_a_given_layout_is_judged_even_if_it_does_not_fit(capsys) -> None:
    given = ("llama3_405b", "--devices", "16384", "--box", "grand_teton_h100", "--batch-tokens", "16M", "--layout", "tp=8,pp=16,v=8,zero=1")
    result = answer(capsys, *given)
    (row,) = result["layouts"]
    assert (row["tensor"], row["pipeline"], row["virtual"], row["data"], row["fits"]) == (8, 16, 8, 128, False)
    assert result["failures"]["mtbf_s"] / 3600 == pytest.approx(3.093, abs=1e-3)
    assert {one["parallelism"]: one["inside_box"] for one in result["traffic"]} == {"tensor": True, "data": False, "pipeline": False}
    assert main(["cluster", *given]) == 0
    text = capsys.readouterr().out
    assert "does not fit" in text and "save every" in text and "the next doubling" in text


def test_published_runs_came_out_as_the_range_says() -> None:
    ratios = []
    for slug in ("megatron_2021", "megatron_2022", "llama3_2024"):
        for run in runs(slug):
            at = box(run.box)
            took = step_time(
                run.shape, run.layout, at, run.batch, run.seq, compute(run.shape, run.layout, run.seq, at.device, run.dtype), run.overlap
            )
            ratios.append(run.seconds / took.total)
    low, high = OUTCOMES
    assert low <= min(ratios) < low + 0.02 and high - 0.02 < max(ratios) <= high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("llama3_70b", "--devices", "8", "--box", "dgx_h100"),
            "no layout of 8 devices holds llama3_70b: the smallest, TP 8 · PP 1 · DP 1",
        ),
        (("llama3_8b", "--devices", "8", "--box", "a100_pairs"), "a100_pairs has no NIC; add nic and nics"),
        (("llama3_8b", "--devices", "8", "--box", "dgx_h900"), "no box 'dgx_h900'; did you mean"),
        (("resnet50", "--devices", "8", "--box", "dgx_h100"), "not a decoder with layers to spread"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--layout", "tp=8,pp=5"), "64 devices can't be split into groups of 40"),
        (("llama3_8b", "--devices", "40", "--box", "dgx_h100", "--layout", "tp=8,pp=5"), "32 layers do not divide into 5 stages"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--layout", "tq=8"), "no part of a layout 'tq'; did you mean"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--layout", "tp"), "'tp' has no whole number; write it as tp=8"),
        (
            ("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--seq", "3000"),
            "not whole sequences of 3,000; give --batch-tokens 4194000",
        ),
        (("gpt3_175b", "--devices", "64", "--box", "dgx_h100", "--seq", "4096"), "takes at most 2,048 tokens"),
        (("llama3_8b", "--devices", "61", "--box", "dgx_h100"), "no layout of 61 devices divides llama3_8b"),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(capsys, arguments: tuple[str, ...], message: str) -> None:
    assert main(["cluster", *arguments, "--batch-tokens", "4M"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_tokens_are_counted_as_publications_do(capsys) -> None:
    assert (read_tokens("4M"), read_tokens("16k"), read_tokens("4_194_304")) == (2**22, 2**14, 2**22)
    assert main(["cluster", "llama3_8b", "--devices", "8", "--box", "dgx_h100", "--batch-tokens", "many"]) == 2
    assert "'many' is not a number of tokens; write one such as 4M" in capsys.readouterr().err


def test_no_figure_is_cut_and_no_name_broken_in_a_narrow_terminal(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = ["machine", "devices", "batch", "cache", "TTFT P99", "TBT P99", "tokens/s", "$/M", "J/M ≤"]
    cells = ["a100_80gb_sxm", "48", "81.8", "19%", "833 ms", "38.7 ms", "4,250", "4.98", "4.51 MJ"]
    draw.table(names, [cells], left=("machine",))
    shown = capsys.readouterr().out
    assert "…" not in shown and all(cell in shown for cell in cells) and max(map(len, shown.splitlines())) <= 80
    row = {"label": "TP 8 · CP 16 · PP 16 · DP 8 · ZeRO-2", "virtual": 8, "micro": 1, "recompute": "none", "step_s": 10.8, "mfu": 0.5}
    assert cluster_layouts._layout(row | {"memory_bytes": 7e10, "fits": True}, narrow=True)[0] == "TP 8 · CP 16 · PP 16 · DP 8\n  ZeRO-2"
    assert "TP\n" not in draw.plain.folded("x" * 38 + " (TP 4 · PP 8)", 42)
