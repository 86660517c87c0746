import json
import re

import pytest

import ironlaw as il
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.workloads import about
from ironlaw.units import show

KEYS = {
    "schema", "workload", "dtype", "hardware", "host", "mode", "dispatch", "label",
    "basis", "calibrated", "seconds", "overlap", "interval", "data_s", "compute_s", "overhead_s", "busy_s",
    "device_interval", "host_s", "host_interval", "measured_shares", "outside",
    "bound", "utilization", "mfu", "kernels", "flops", "bytes", "params", "memory", "fits", "energy_j", "energy_is_estimate", "sources",
    "fp32", "ops",
}  # fmt: skip


def one(sh, *argv):
    told = sh.json("predict", *argv)
    assert len(told["predictions"]) == 1
    return told["predictions"][0]


def test_json_is_what_the_api_says(sh):
    told = sh.json("predict", "resnet50", "--on", "h100", "--uncalibrated")
    assert set(told) == {"schema", "ironlaw", "workload", "dtype", "settings", "predictions", "variants", "refused", "too_large"}
    assert told["workload"] == "resnet50" and told["settings"]["batch"] == 1 and told["refused"] == []
    (row,) = told["predictions"]
    assert set(row) == KEYS and len(row["ops"]) == len(il.workload("resnet50").ops)
    p = il.predict(il.workload("resnet50"), il.hardware("h100_sxm"), il.Plan(calibrated=False))
    for name in ("seconds", "data_s", "compute_s", "overhead_s", "busy_s", "bound", "utilization", "energy_j", "kernels"):
        assert row[name] == getattr(p, name)
    assert row["params"] == 25_557_032 and row["label"] == "bound" and row["interval"] is None
    assert row["overlap"][0] <= row["seconds"] <= row["overlap"][1]
    assert (
        row["memory"]["total"] == row["memory"]["weights"] + row["memory"]["activations"] + row["memory"]["workspace"]
        and row["fits"] is True
    )


def test_a_row_per_machine_and_mode(sh):
    out = sh.out("predict", "resnet50", "--on", "h100,t4", "--mode", "eager,compiled,graphs", "--uncalibrated", "--notes")
    for machine in ("h100_sxm", "t4"):
        for mode in ("eager", "compiled", "graphs"):
            assert len(re.findall(rf"^ {machine} +{mode} ", out, re.M)) == 2  # where the time goes, and what it takes
    assert "989 TFLOP/s" in out and "Datasheet" in out
    told = sh.json("predict", "resnet50", "--on", "h100,t4", "--mode", "eager,compiled", "--uncalibrated")
    assert [(p["hardware"], p["mode"]) for p in told["predictions"]] == [
        ("h100_sxm", "eager"), ("h100_sxm", "compiled"), ("t4", "eager"), ("t4", "compiled"),
    ]  # fmt: skip
    eager, compiled = told["predictions"][:2]
    assert compiled["kernels"] < eager["kernels"] and compiled["seconds"] < eager["seconds"]


def test_a_machine_named_twice_counts_once(sh):
    assert one(sh, "mlp8_1024", "--on", "h100,h100_sxm,H100-SXM")["hardware"] == "h100_sxm"


def test_settings_reach_the_workload(sh):
    row = one(sh, "gpt2", "--on", "a100_80gb_sxm", "--batch", "2", "--phase", "decode", "--context", "64", "--dtype", "bf16")
    graph = il.workload("gpt2", batch=2, phase="decode", context=64, dtype="bf16")
    assert (row["flops"], row["bytes"]) == (graph.flops, graph.bytes)
    assert one(sh, "resnet50", "--on", "t4", "--classes", "2")["params"] == 25_557_032 - 998 * 2049


def test_several_batches_side_by_side(sh):
    """The first is what the report is about, as `analyze` has it."""
    told = sh.json("predict", "resnet50", "--on", "h200_sxm,t4", "--batch", "8,64,8", "--mode", "eager")
    assert [(v["batch"], v["hardware"]) for v in told["variants"]] == [(8, "h200_sxm"), (8, "t4"), (64, "h200_sxm"), (64, "t4")]
    assert told["settings"]["batch"] == 8 and [v["seconds"] for v in told["variants"][:2]] == [p["seconds"] for p in told["predictions"]]
    alone = one(sh, "resnet50", "--on", "t4", "--batch", "64")
    assert told["variants"][-1]["seconds"] == alone["seconds"] and told["variants"][-1]["memory"] == alone["memory"]["total"]
    out = sh.out("predict", "resnet50", "--on", "h200_sxm", "--batch", "8,64")
    assert re.search(r"^ batch 64 +\S+\sMB +.* eager, [\d,]+/s", out, re.M)
    assert one(sh, "resnet50", "--on", "t4", "--batch", "64")["seconds"] and sh.json("predict", "gpt2", "--on", "t4")["variants"] == []


@pytest.mark.parametrize(("spelling", "name"), [("float16", "fp16"), ("torch.bfloat16", "bf16"), ("half", "fp16"), ("float64", "fp64")])
def test_number_formats_as_pytorch_spells_them(sh, spelling, name):
    assert one(sh, "gpt2", "--on", "h200_sxm", "--dtype", spelling)["dtype"] == name


def test_notes_are_few_unless_asked_for(sh, monkeypatch):
    """At 80 columns what stands below the tables took thirty lines."""
    monkeypatch.setenv("COLUMNS", "80")
    few, all_of_them = (sh.out("predict", "resnet50", "--on", "h100_sxm,t4,m3_max", *more) for more in ((), ("--notes",)))
    below = [line for line in few.splitlines() if line and not line.startswith(" ")]
    notes = below[next(i for i, line in enumerate(below) if line.startswith("Four runs out of five")) :]
    assert len(notes) <= 6 and "`--notes`" in few and "NeuSight" not in few
    assert "NeuSight" in all_of_them and "overlap:" in all_of_them and "`--notes`" not in all_of_them


def test_a_narrow_terminal_breaks_no_operators_name(sh, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = sh.out("predict", "llama3_8b", "--on", "h200_sxm", "--decode", "--context", "4096", "--ops", "5")
    assert "layers.0.mlp.down_proj " in out and "…" not in out and max(map(len, out.splitlines())) <= 80


def test_evidence_takes_one_line(sh):
    """It was eight lines of file names; JSON has them."""
    out = sh.out("predict", "resnet50", "--on", "h200_sxm", "--notes")
    count = sum(source.startswith("evidence h200_sxm/") for source in one(sh, "resnet50", "--on", "h200_sxm")["sources"])
    (line,) = [line for line in out.splitlines() if "evidence" in line]
    assert line.startswith(f"h200_sxm: {count} files of evidence, 20") and count > 10 and "--json" in line


def test_launch_and_dispatch(sh):
    free = one(sh, "resnet50", "--on", "h100", "--launch", "0", "--uncalibrated")
    assert free["overhead_s"] == pytest.approx(0) and free["bound"] == "memory"
    waited = one(sh, "resnet50", "--on", "h100", "--launch", "20 us", "--dispatch", "synchronous", "--uncalibrated")
    assert waited["seconds"] == pytest.approx(waited["busy_s"] + 20e-6 * waited["kernels"])
    out = sh.out("predict", "resnet50", "--on", "h100", "--launch", "20 us", "--uncalibrated", "--notes")
    assert "launch 20 µs (given)" in " ".join(out.split())


def test_ops_by_device_time(sh):
    row = one(sh, "resnet50", "--on", "h100", "--ops", "3", "--mode", "compiled", "--uncalibrated")
    times = [op["seconds"] for op in row["ops"]]
    assert len(times) == 3 and times == sorted(times, reverse=True)
    assert row["ops"][0]["kind"] == "conv2d + batch_norm + relu"
    out = sh.out("predict", "resnet50", "--on", "h100", "--ops", "3", "--uncalibrated")
    assert "the 3 longest of 174 operators" in out and "layer4.0.conv2" in out


def test_precision_that_a_machine_lacks(sh):
    code, out, err = sh("predict", "resnet50", "--on", "v100", "--dtype", "bf16")
    assert (code, out) == (2, "") and "v100 has no bf16" in err
    told = sh.json("predict", "resnet50", "--on", "v100,h100", "--dtype", "bf16")
    assert [p["hardware"] for p in told["predictions"]] == ["h100_sxm"]
    assert told["refused"][0]["hardware"] == "v100" and "no bf16" in told["refused"][0]["reason"]
    assert "✗ v100 has no bf16" in sh.out("predict", "resnet50", "--on", "v100,h100", "--dtype", "bf16")


def test_a_model_that_does_not_fit(sh):
    """The figures are there all the same, with a word beside them."""
    code, out, _ = sh("predict", "llama3_70b", "--on", "h100")
    words = " ".join(out.split())
    assert (
        code == 0
        and "does not fit into h100_sxm: it needs 141 GB, and there are 84.4 GB usable of 80 GiB" in words
        and "h200_nvl, h200_sxm, m2_ultra" in words
    )
    told = sh.json("predict", "llama3_70b", "--on", "h100,mi300x")
    assert [(p["hardware"], p["fits"]) for p in told["predictions"]] == [("h100_sxm", False), ("mi300x", True)]
    assert "Split into stages, it fits on 2 of them" in words and "over NVLink 4" in words
    (large,) = told["too_large"]
    assert large["hardware"] == "h100_sxm" and told["refused"] == []
    group, (p, _) = large["group"], told["predictions"]
    assert (group["devices"], group["box"], len(group["stages"])) == (2, "dgx_h100", 2)
    assert group["seconds"] == pytest.approx(p["seconds"] + group["transfer_s"]) and group["interval_s"] < 0.6 * p["seconds"]
    assert "no server with these devices" in sh.json("predict", "llama3_70b", "--on", "t4")["too_large"][0]["reason"]
    assert sh.json("predict", "resnet50", "--on", "cortex_m7", "--dtype", "int8")["too_large"][0]["group"] is None
    assert all(p["seconds"] > 140e9 / 5.4e12 for p in told["predictions"])  # every weight is read, at 5.3 TB/s at most
    code, out, err = sh("predict", "llama3_70b", "--on", "v100,t4", "--dtype", "bf16")
    assert (code, out) == (2, "") and "none of these machines" in err


@pytest.mark.parametrize("width", [80, 100, 120, 160])
@pytest.mark.parametrize(
    "argv",
    [
        ("predict", "resnet50", "--on", "h100,h200_sxm,a100_40gb_pcie", "--mode", "eager,compiled", "--ops", "3"),
        ("hardware",),
        ("hardware", "h100"),
        ("workload",),
        ("workload", "gpt2"),
        ("fuse", "gpt2_layer", "--verbose"),
        ("roofline", "--gemm", "64,64,64", "--on", "h100,a100_80gb_sxm", "--levels"),
        ("breakeven", "--compile-s", "30", "--eager-rate", "1450", "--compiled-rate", "2150"),
    ],
    ids=lambda argv: argv[0],
)
def test_lines_keep_within_the_terminal_and_no_figure_is_cut(sh, monkeypatch, width, argv):
    monkeypatch.setenv("COLUMNS", str(width))
    out = sh.out(*argv)
    assert max(map(len, out.splitlines())) <= width
    assert not re.search(r"\d ?[^\s…]*… ", out), "a figure was cut"
    assert "\x1b" not in out  # no colours in a pipe


@pytest.mark.parametrize("width", [80, 120])
def test_an_interval_has_its_column(sh, monkeypatch, width):
    from ironlaw.cli.show.prediction_lines import report

    monkeypatch.setenv("COLUMNS", str(width))
    graph = il.workload("resnet50")
    bound = il.predict(graph, il.hardware("h100"), il.Plan(calibrated=False))
    sure = il.predict(graph, il.hardware("h200_sxm"))
    report(graph, [bound, sure], [], 0, notes=True)
    out = sh.capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    low, high = (show(end, "s") for end in sure.interval)
    assert "likely" in out and low in out and high in out and "calibrated" in out and "…" not in out
    assert re.search(
        rf"h200_sxm, eager: device {show(sure.busy_s, 's')} \(.* – .*\), host {show(sure.host_s, 's')}", re.sub(r"\s+", " ", out)
    )


def test_no_kind_of_time_looks_like_another(sh):
    """UNet on an A100 by its datasheet stood below the same on a measured H200, with nothing between them."""
    out = sh.out("predict", "unet_block", "--on", "m3_max,a100_80gb_sxm,h200_sxm")
    assert re.search(r"^ a100_80gb_sxm +eager +≈ \d", out, re.M) and re.search(r"^ h200_sxm +eager +\d", out, re.M)
    assert re.search(r"^ m3_max +eager +≥ \d", out, re.M) and out.index(" h200_sxm") < out.index(" a100_80gb_sxm") < out.index(" m3_max")
    words = re.sub(r"\s+", " ", out)
    assert "≥ is a lower bound from the datasheet." in words and "all are computed here from their datasheets" in words
    two = re.sub(r"\s+", " ", sh.out("predict", "unet_block", "--on", "a100_80gb_sxm,h200_sxm"))
    assert re.search(r"as if none had been \(transferred\)\. h200_sxm eager ≈ [\d.]+ µs, a100_80gb_sxm eager ≈", two)
    assert "real run is slower" not in out
    assert "≥" not in sh.out("predict", "unet_block", "--on", "h200_sxm")


def test_the_answer_stands_above_the_tables(sh):
    """How long, and the bottleneck: of what fits, the fastest on like grounds; lower bounds are not ranked."""

    def answer(*argv):
        return re.sub(r"\s+", " ", sh.out("predict", *argv)).split(" machine ")[0]

    told = sh.json("predict", "resnet50", "--on", "h200_sxm,l4", "--mode", "eager,graphs")["predictions"]
    best = min((p for p in told if p["hardware"] == "h200_sxm"), key=lambda p: p["seconds"])
    assert best["mode"] == "graphs"
    fastest = f"At {show(best['seconds'], 's')} per call, h200_sxm in graphs mode is fastest"
    assert fastest in answer("resnet50", "--on", "l4,h200_sxm", "--mode", "eager,graphs")
    alone = one(sh, "resnet50", "--on", "l4", "--mode", "eager", "--batch", "64")
    assert alone["bound"] == "memory" and answer("resnet50", "--on", "l4", "--batch", "64").endswith(
        f"A call takes about {show(alone['seconds'], 's')} on l4 in eager mode, and memory bandwidth is the bottleneck."
    )
    assert "A call takes at least" in answer("mlp8_1024", "--on", "t4,h100", "--uncalibrated")
    assert "on h200_sxm in eager" in answer("llama3_70b", "--on", "l4,h200_sxm", "--decode")
    assert answer("llama3_70b", "--on", "l4", "--decode").endswith(" The model does not fit. What would hold it stands below the tables.")
    assert "launching" in answer("resnet50", "--on", "h100")
    assert "the fixed cost of" in answer("resnet50", "--on", "h100", "--mode", "graphs")


@pytest.mark.parametrize("width", [80, 120])
def test_what_lies_outside_is_said_and_named(sh, monkeypatch, width):
    from ironlaw.cli.show.prediction_lines import report

    monkeypatch.setenv("COLUMNS", str(width))
    x, w, y, z = (Tensor("x", (2**20, 7)), Tensor("w", (2**20 + 1, 7), role="weight"), Tensor("y", (2**20, 2**20 + 1)), Tensor("z", (64,)))
    far = Graph("far", (op("linear", "wide", [x, w], [y]), op("unknown", "mine", [z], [z])))
    p = il.predict(far, il.hardware("h200_sxm"))
    report(far, [p], [], 2)
    out = re.sub(r"\s+", " ", sh.capsys.readouterr().out)
    assert "! h200_sxm, eager: 100% of this time lies outside what was measured: linear" in out
    assert "unknown operators make this time a lower bound: unknown" in out
    assert "partly calibrated" in out and "over " in out and re.search(r"│? ! \d+%", out)
    told = p.to_dict(2)
    assert told["label"] == "partly calibrated" and told["outside"][0]["operator"] == "linear" and told["interval"][1] is None
    assert [row["measured"] for row in told["ops"]] == ["outside", "unknown"]
    assert told["ops"][1]["interval"][0] <= told["ops"][1]["seconds"] and told["ops"][1]["interval"][1] is None


def test_fp32_says_what_is_computed_in_tf32(sh):
    out = " ".join(sh.out("predict", "resnet50", "--dtype", "fp32", "--on", "a100,t4").split())
    assert "a100_80gb_sxm: FP32 tensors, but conv2d is computed in TF32" in out and "--strict-fp32" in out
    assert "t4: FP32 tensors" not in out
    row = one(sh, "resnet50", "--dtype", "fp32", "--on", "a100", "--tf32")
    assert row["fp32"] == {"asked": "tf32", "in_tf32": ["conv2d", "linear"]}
    strict = one(sh, "resnet50", "--dtype", "fp32", "--on", "a100", "--strict-fp32")
    assert strict["fp32"] == {"asked": "strict", "in_tf32": []} and strict["compute_s"] > 4 * row["compute_s"]


@pytest.mark.parametrize(
    ("options", "words"), [(("--dtype", "tf32", "--strict-fp32"), "leave one of them out"), (("--tf32", "--strict-fp32"), "--tf32")]
)
def test_contradicting_formats(sh, options, words):
    code, out, err = sh("predict", "resnet50", "--on", "a100", *options)
    assert (code, out) == (2, "") and words in err


def test_a_host_by_name(sh):
    own, vm, bare = (one(sh, "dscnn_kws", "--on", "h200_sxm", *more) for more in ((), ("--host", "vm"), ("--host", "bare-metal")))
    assert bare["seconds"] < own["seconds"] < vm["seconds"] and own["busy_s"] == bare["busy_s"] == vm["busy_s"]
    assert (own["host"]["slug"], vm["host"]["slug"], bare["host"]["slug"]) == ("typical", "xeon_vm", "dgx_h100")
    assert bare["host"]["estimate"] and not vm["host"]["estimate"] and bare["host"]["source"].startswith("https://")
    assert set(own["host"]) == {
        "slug", "name", "estimate", "launch_s", "launch_is_given", "entry_s", "graph_start_s", "source", "date", "caveats",
    }  # fmt: skip
    given = one(sh, "dscnn_kws", "--on", "h200_sxm", "--launch", "5 us")
    assert (given["host"]["launch_s"], given["host"]["launch_is_given"]) == (5e-6, True)


def test_the_host_is_named_in_every_output(sh):
    def told(*argv):
        return " ".join(sh.out("predict", "dscnn_kws", *argv).split())

    assert "The host (Virtual machine, 16 cores of an Intel Xeon) takes 11 µs to launch an element-wise op." in told(
        "--on", "h200", "--host", "vm"
    )
    assert "The host (Bare-metal server, as a DGX H100, estimated) takes 8.14 µs" in told("--on", "h200_sxm", "--host", "bare")
    assert "Each launch takes 5 µs, as given." in told("--on", "h200_sxm", "--launch", "5 us")
    both = told("--on", "h100,neoverse_n1_2core", "--dtype", "fp32", "--host", "vm")
    assert "h100_sxm: the host (Virtual machine" in both and "neoverse_n1_2core: the device launches its own kernels." in both
    for machine in ("h100", "h200"):  # the same before every GPU
        assert "The host (Typical server, estimated) takes 6.47 µs" in told("--on", machine)


def test_an_unknown_host_gets_its_nearest(sh):
    for name, told in (("bear", "no host 'bear'; did you mean bare"), ("here", "run `ironlaw measure --host` first")):
        code, out, err = sh("predict", "dscnn_kws", "--on", "t4", "--host", name)
        assert (code, out) == (2, "") and told in err


def test_graphs_of_eager_code(sh):
    told = sh.json("predict", "dscnn_kws", "--on", "h200_sxm", "--mode", "eager,eager_graphs,graphs")
    eager, replayed, compiled = told["predictions"]
    assert (replayed["kernels"], replayed["busy_s"]) == (eager["kernels"], eager["busy_s"]) and replayed["mode"] == "eager_graphs"
    assert compiled["kernels"] < replayed["kernels"] and replayed["seconds"] < 0.5 * eager["seconds"]


def test_phases_in_short(sh):
    short = sh.json("predict", "llama3_2_1b", "--on", "h200", "--decode", "--context", "1024", "--batch", "4")
    assert short == sh.json("predict", "llama3_2_1b", "--on", "h200", "--phase", "decode", "--context", "1024", "--batch", "4")
    prompt = sh.json("predict", "llama3_2_1b", "--on", "h200", "--prefill", "300")
    whole = sh.json("predict", "llama3_2_1b", "--on", "h200", "--phase", "prefill", "--seq", "300")
    assert prompt["settings"] == whole["settings"]  # a forward pass has the logits of all tokens, a prompt of the last
    assert whole["predictions"][0]["flops"] - prompt["predictions"][0]["flops"] == 2 * 299 * 2048 * 128_256
    for more, words in ((("--prefill", "8", "--decode"), "one at a time"), (("--prefill", "8", "--seq", "9"), "--prefill and --seq")):
        code, _, err = sh("predict", "llama3_2_1b", "--on", "h200", *more)
        assert code == 2 and words in err


def test_a_decoder_by_its_config(sh, tmp_path):
    params = about("llama3_2_1b")["params"]
    names = {"vocab": "vocab_size", "layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads"}
    names |= {"kv_heads": "num_key_value_heads", "ffn": "intermediate_size", "tied": "tie_word_embeddings", "head_dim": "head_dim"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"} | {theirs: params[ours] for ours, theirs in names.items()}))
    by_file = sh.json("predict", str(tmp_path), "--on", "h200", "--decode", "--context", "1024")["predictions"]
    by_name = sh.json("predict", "llama3_2_1b", "--on", "h200", "--decode", "--context", "1024")["predictions"]
    assert [p["seconds"] for p in by_file] == [p["seconds"] for p in by_name]
    code, _, err = sh("predict", str(tmp_path), "--on", "h200", "--classes", "5")
    assert code == 2 and "takes no 'classes'" in err


def test_the_timeline_goes_into_a_file(sh, tmp_path):
    place = tmp_path / "trace.json"
    out = json.loads(sh.out("predict", "resnet18", "--on", "h200_sxm", "--mode", "eager,graphs", "--chrome-trace", str(place), "--json"))
    assert out["chrome_trace"] == str(place)
    ends = {}
    for e in json.loads(place.read_text())["traceEvents"]:
        if e.get("cat") == "kernel":
            ends[e["pid"]] = max(ends.get(e["pid"], 0.0), e["ts"] + e["dur"])
    assert list(ends.values()) == [pytest.approx(1e6 * p["seconds"], rel=1e-6) for p in out["predictions"]]
    assert f"trace: {place}" in sh.out("predict", "resnet18", "--on", "h200_sxm", "--chrome-trace", str(place))
