"""`ironlaw cluster`: layouts, traffic, failures and the next doubling; and what is refused."""

import json
import shlex

import pytest

from ironlaw.cli import main
from ironlaw.cli.show import cluster_layouts, draw
from ironlaw.engine.cluster.failures import optimum
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.registry.machines import hardware
from ironlaw.registry.stacks import stack
from ironlaw.systems.questions.training_readers import read_tokens


def answer(capsys, *arguments: str) -> dict:
    assert main(["cluster", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def layout_of(row: dict) -> Layout:
    names = ("tensor", "pipeline", "context", "data", "expert", "virtual", "micro", "recompute", "zero", "replicate")
    return Layout(**{name: row[name] for name in names})


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
    assert stops["save_s"] == pytest.approx(14 * result["parameters"] / (64 * 2e12 / 16384))
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


def test_intervals_are_the_stacks(capsys) -> None:
    for name in ("torchtitan", "megatron", "plain"):
        result = answer(capsys, "llama3_8b", "--devices", "64", "--box", "dgx_h100", "--batch-tokens", "1M", "--stack", name, "--top", "1")
        (row,), spread = result["layouts"], stack(name).spread
        for value, (low, high) in ((row["step_s"], row["step_range_s"]), (row["mfu"], row["mfu_range"])):
            assert (low * spread, high / spread) == pytest.approx((value, value))
        low, high = result["costs"]["dollars_range"]
        assert low * spread == pytest.approx(result["costs"]["dollars_per_million_tokens"]) == pytest.approx(high / spread)
        assert result["published_over_predicted"] == pytest.approx([1 / spread, spread]) and result["stack"] == name
        assert stack(name).lacks(layout_of(row)) is None and result["command"].startswith("torchrun --nnodes 8 --nproc_per_node 8 ")


def test_the_hosts_memory_helps_where_nothing_fits(capsys) -> None:
    """70B on one box: 16 bytes per parameter over eight devices are more than 80 GB each; without the optimiser's 12 they fit."""
    given = ("llama3_70b", "--devices", "8", "--box", "dgx_h100", "--batch-tokens", "512k", "--top", "1")
    (row,) = answer(capsys, *given)["layouts"]
    assert row["offload"] == ["optimiser"] and row["memory"]["optimiser"] == 0 and row["fits"] and row["label"].endswith(" · offload")
    assert row["parts_s"]["offload"] > 0 and sum(row["parts_s"].values()) == pytest.approx(row["step_s"])
    assert main(["cluster", *given]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "offload: optimiser state in the host's memory." in shown and "--optimizer-cpu-offload" in shown
    small = ("llama3_8b", "--devices", "8", "--box", "dgx_h100", "--batch-tokens", "512k", "--stack", "torchtitan", "--layout", "zero=3")
    here, away = (answer(capsys, *small, *asked)["layouts"][0] for asked in ((), ("--offload",)))
    assert here["offload"] == [] and away["offload"] == ["optimiser", "gradients", "weights"]
    assert away["memory_bytes"] < here["memory_bytes"] and away["step_s"] > here["step_s"]


def test_where_no_run_was_published_the_range_is_wider(capsys) -> None:
    given = ("cluster", "llama3_8b", "--devices", "8", "--batch-tokens", "512k", "--layout", "tp=2", "--box")
    for box, wider in (("dgx_h100", False), ("mi300x_platform", True)):
        assert main([*given, box, "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["published_on_machine"] is not wider
        assert result["published_over_predicted"][1] == pytest.approx(stack("megatron").spread ** (2 if wider else 1))
    assert main([*given, "mi300x_platform"]) == 0
    assert "none of the published runs that this rests on was like this one" in " ".join(capsys.readouterr().out.split())


def test_memory_is_filled_as_far_as_it_says(capsys) -> None:
    given = ("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--batch-tokens", "1M")
    usual, full, half = (answer(capsys, *given, *more) for more in ((), ("--memory", "1"), ("--memory", "50%")))
    whole = float(hardware("h100_sxm").usable)
    assert usual["usable_bytes"] == pytest.approx(0.92 * whole) and half["usable_bytes"] == pytest.approx(0.5 * whole)
    assert sum(usual["reserved_bytes"].values()) == pytest.approx(0.08 * whole) and sum(full["reserved_bytes"].values()) == 0
    for result in (usual, full, half):
        assert max(row["memory_bytes"] for row in result["layouts"]) <= result["usable_bytes"]


def test_storage_goes_with_the_size_unless_it_is_given(capsys) -> None:
    given = ("llama3_8b", "--box", "dgx_h100", "--batch-tokens", "1M", "--layout", "tp=1")
    small, large = (answer(capsys, *given, "--devices", count)["failures"]["save_s"] for count in ("8", "64"))
    assert small == pytest.approx(8 * large) == pytest.approx(14 * 8030261248 / (8 * 2e12 / 16384))
    assert answer(capsys, *given, "--devices", "8", "--storage", "1 GB/s")["failures"]["save_s"] == pytest.approx(14 * 8.030261248)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("llama3_405b", "--devices", "8", "--box", "dgx_h100"),
            "no layout of 8 devices holds llama3_405b: the smallest, TP 8 · PP 1 · DP 1",
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
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--stack", "deepspeed"), "no training stack 'deepspeed'; known: megatron,"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--async-tp"), "megatron has no option for asynchronous tensor parallelism"),
        (
            ("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--async-tp", "--stack", "torchtitan", "--mode", "eager"),
            "needs a compiled model; leave --mode out",
        ),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--mode", "fast"), "no option 'fast'; known: compiled, eager"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--memory", "1.5"), "'1.5' is not a share"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--storage", "0"), "--storage"),
        (
            ("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--stack", "plain", "--layout", "tp=2"),
            "plain can't run TP 2 · PP 1 · DP 32 · ZeRO-3: it has data parallelism alone; give another layout or another --stack",
        ),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--stack", "torchtitan", "--layout", "zero=1"), "it has ZeRO 2 or 3"),
        (("llama3_8b", "--devices", "64", "--box", "dgx_h100", "--layout", "recompute=ops"), "it has none or selective or full"),
        (("llama3_8b", "--devices", "8", "--box", "hgx_h20", "--offload"), "nothing is known about the memory of hgx_h20's host"),
        (("llama3_8b", "--devices", "8", "--box", "dgx_h100", "--offload", "--layout", "zero=3"), "the host's memory for ZeRO 1 only"),
        (
            ("llama3_8b", "--devices", "8", "--box", "dgx_h100", "--offload", "--stack", "torchtitan", "--layout", "tp=8"),
            "only shards of gradients and weights can lie in the host's memory",
        ),
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


def test_a_command_is_broken_so_that_a_shell_takes_it():
    line = 'vllm serve org/M --tensor-parallel-size 2 --max-num-batched-tokens 2048 --config \'{"a": "two words"}\' --max-num-seqs 128'
    shown = draw.plain.in_shell(line, 60)
    assert max(map(len, shown.splitlines())) <= 60 and shown.count(" \\\n") == 2
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(line)
    note = draw.plain.in_shell("# " + "a comment that goes on " * 5, 60)
    assert all(part.startswith("# ") and len(part) <= 60 for part in note.splitlines()) and note.count("\n") == 1
