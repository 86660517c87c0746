"""hardware, workload, roofline, breakeven, fuse, claims: the figures they print."""

import pytest

import ironlaw as il

BREAKEVEN = ("breakeven", "--compile-s", "30", "--eager-rate", "1450", "--compiled-rate", "2150")


# ---- hardware


def test_hardware_check_names_what_a_transferred_time_lacks(sh):
    told = {row["hardware"]: row for row in sh.json("hardware", "check")["machines"]}
    assert told["mi300x"]["missing"] == told["h100_sxm"]["missing"] == [] and told["h200_sxm"]["kind"] == "calibrated"
    assert (told["mi300x"]["kind"], told["tpu_v5e"]["kind"]) == ("transferred", "bound")
    assert "xla kernels" in told["tpu_v5e"]["missing"][0]
    assert "a100_80gb_sxm" in sh.out("hardware", "check", "a100") and "mi300x" not in sh.out("hardware", "check", "a100")
    code, _, told = sh("hardware", "a100", "h100")
    assert code and "name one machine, not a100 and h100" in told


def test_hardware_lists_every_machine(sh):
    told = sh.json("hardware")["machines"]
    assert {hw["slug"] for hw in told} == set(il.machines())
    out = sh.out("hardware")
    assert all(slug in out for slug in il.machines())


def test_one_machine_with_its_sources(sh):
    told = sh.json("hardware", "h100")
    assert told["slug"] == "h100_sxm" and told["bandwidth"] == 3.35e12
    assert told["ridge"]["fp16"] == pytest.approx(295.2, abs=0.05)
    assert all(f["source"] and f["date"] for f in told["figures"].values())
    assert told["figures"]["launch"]["estimate"] is True and told["figures"]["launch"]["why"]
    assert [level["name"] for level in told["levels"]][-1] == "main"
    out = sh.out("hardware", "h100")
    for words in (
        "NVIDIA H100 SXM5",
        "989 TFLOP/s",
        "3.35 TB/s",
        "295",
        "494.5 TFLOP/s",
        "≈ 10 µs",
        "L2 cache",
        "2023-07",
        "[1] NVIDIA H100",
    ):
        assert words in out


# ---- workload


def test_workload_lists_every_model(sh):
    told = {row["slug"]: row for row in sh.json("workload")["workloads"]}
    assert set(told) == set(il.workloads())
    assert told["resnet50"]["params"] == 25_557_032
    assert all(set(row) == {"slug", "family", "dtype", "params", "flops", "bytes", "kernels", "intensity"} for row in told.values())
    assert "25.6 M" in sh.out("workload")


def test_one_model_adds_up(sh):
    told = sh.json("workload", "resnet50", "--batch", "4", "--ops")
    graph = il.workload("resnet50", batch=4)
    assert told["flops"] == graph.flops and told["settings"]["batch"] == 4
    assert sum(kind["bytes"] for kind in told["kinds"].values()) == pytest.approx(graph.bytes)
    assert len(told["ops"]) == len(graph.ops)
    assert told["heaviest"][0]["times"] == 5  # layer3.1.conv2 and its like
    out = sh.out("workload", "resnet50")
    assert "25,557,032" in out and "10 heaviest" in out and "conv2d" in out
    assert "layer4.2.conv3" in sh.out("workload", "resnet50", "--ops")


# ---- roofline


def test_roofline_of_given_work(sh):
    told = sh.json("roofline", "--flops", "8.2e9", "--bytes", "51 MB", "--on", "h100,t4", "--dtype", "fp16")
    assert told["flops"] == 8.2e9 and told["bytes"] == 51e6
    h100, t4 = told["points"]
    assert h100["ridge"] == pytest.approx(295.2, abs=0.05) and h100["regime"] == "memory"
    assert h100["intensity"] == pytest.approx(160.8, abs=0.05)
    assert h100["attainable"] == pytest.approx(3.35e12 * 8.2e9 / 51e6)
    assert h100["mfu"] == pytest.approx(h100["intensity"] / h100["ridge"]) and h100["bound"] is True
    assert h100["seconds"] == pytest.approx(51e6 / 3.35e12) and t4["hardware"] == "t4"
    out = sh.out("roofline", "--flops", "8.2 GFLOP", "--bytes", "51e6", "--on", "h100")
    assert "295" in out and "memory" in out and "≤ 54%" in out and "A bound" in out


def test_roofline_of_a_gemm_and_levels(sh):
    told = sh.json("roofline", "--gemm", "4096,4096,4096", "--on", "h100", "--levels")
    assert told["flops"] == 2 * 4096**3 and told["bytes"] == 3 * 4096**2 * 2
    assert [p["level"] for p in told["points"]] == ["registers", "shared", "l2", "main"]
    (point,) = sh.json("roofline", "--gemm", "64,64,64", "--on", "h100", "--level", "l2", "--dtype", "int8")["points"]
    assert point["ridge"] == pytest.approx(1979e12 / 7e12) and point["intensity"] == pytest.approx(2 * 64 / 3)


def test_roofline_notices_what_a_machine_lacks(sh):
    told = sh.json("roofline", "--gemm", "64,64,64", "--on", "h100,v100", "--dtype", "bf16")
    assert len(told["points"]) == 1 and told["refused"][0]["hardware"] == "v100"


# ---- breakeven


def test_breakeven(sh):
    told = sh.json(*BREAKEVEN, "--per-day", "10000", "--days", "30")
    assert told["calls"] == pytest.approx(133607.14, abs=0.005) and told["pays"] is True
    assert told["days"] == pytest.approx(13.3607, abs=1e-4)
    assert told["net_saving_s"] == pytest.approx(300_000 * (1 / 1450 - 1 / 2150) - 30)
    assert told["sensitivity"] == pytest.approx({"compile_s": 1, "eager_rate": 2150 / 700, "compiled_rate": -1450 / 700})
    assert told["strongest"] == "eager_rate"
    out = sh.out(*BREAKEVEN, "--per-day", "10000", "--days", "30")
    assert "about 134,000 calls" in out and "13.4 days" in out and "+37.4 s net" in out


def test_breakeven_takes_units(sh):
    told = sh.json("breakeven", "--compile-s", "0.5 min", "--eager-rate", "1,450", "--compiled-rate", "2150")
    assert told["calls"] == pytest.approx(133607.14, abs=0.005) and "days" not in told


@pytest.mark.parametrize("compiled", ["1450", "1000"])
def test_compiling_that_loses_never_pays(sh, compiled):
    argv = ("breakeven", "--compile-s", "30", "--eager-rate", "1450", "--compiled-rate", compiled, "--per-day", "10", "--days", "3")
    told = sh.json(*argv)
    assert (told["pays"], told["calls"], told["days"], told["sensitivity"]) == (False, "never", "never", None)
    assert told["net_saving_s"] <= -30
    assert "never" in sh.out(*argv)


# ---- fuse


def test_fuse(sh):
    told = sh.json("fuse", "resnet50")
    plan = il.fuse(il.workload("resnet50"))
    assert told["before"] == {"kernels": 174, "bytes": plan.source.bytes}
    assert told["after"] == {"kernels": int(plan.kernels), "bytes": plan.graph.bytes}
    assert sum(len(group["ops"]) for group in told["groups"]) == len(plan.source.ops) and "verdicts" not in told
    out = sh.out("fuse", "resnet50")
    assert "×33" in out and "conv2d + batch_norm + relu" in out and "epilogue" in out


def test_groups_save_what_the_graph_saves(sh):
    from ironlaw.cli.fuse import makes

    plan = il.fuse(il.workload("gpt2"))
    saved = sum(bytes_saved for same in makes(plan).values() for _, bytes_saved in same)
    assert saved == pytest.approx(plan.bytes_saved)


def test_verbose_gives_every_verdict(sh):
    told = sh.json("fuse", "mlp8_1024", "--verbose")
    assert len(told["verdicts"]) == 15 and sum(v["fused"] for v in told["verdicts"]) == 8
    assert all(v["reason"] for v in told["verdicts"])
    assert "8 of 15 pairs fused" in sh.out("fuse", "mlp8_1024", "--verbose")


def test_repeats_are_written_once():
    from ironlaw.cli.fuse import chain

    assert chain(("mul", "mul", "add", "mul")) == "2 mul + add + mul"


# ---- claims


def test_claims(sh):
    told = {claim["id"]: claim for claim in sh.json("claims")["claims"]}
    claim = told["three_op_fusion_5x"]
    assert claim["value"] == 5 and claim["verdict"] == "refuted" and claim["why"]
    assert claim["computed"] == pytest.approx(3, rel=0.1)
    assert claim.items() <= sh.json("claims", "three_op_fusion_5x").items()
    assert "refuted" in sh.out("claims") and claim["who"] in " ".join(sh.out("claims", "three_op_fusion_5x").split())
