"""Lab 11 at the level of what it shows and what the ledger holds."""

import re
from dataclasses import replace

import pytest
from headless import Page, bare, cards, figure
from ledger_at_hand import open_ledger

from ironlaw import claims, hardware, workload
from ironlaw.engine.device.deployment import serving
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.memory import live_activations
from ironlaw.kit import lab_parts
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.labs.lab_11_roofline.act1 import gemm
from ironlaw.labs.lab_11_roofline.act2 import budget, kernels, layer, served, slots
from ironlaw.units import significant

SLUG = "lab_11_roofline"
SAID = {"act1": "bug", "act1_reflection": "reuse", "act2": "alike"}


def marks(view, name, kind, **wanted):
    return [m for m in figure(view, name)["marks"] if m["type"] == kind and all(m.get(key) == value for key, value in wanted.items())]


def now(view):
    return marks(view, "roofs", "point", id="now")[0]


def told(mark):
    return {row[0]: row[1].replace("\u202f", " ") for row in mark["hover"] if isinstance(row, list)}


# --- locked


def test_the_message_states_the_case_and_follows_the_context(page):
    said = page.slots("act1.message", page.parts["act1_message"].text)
    assert (said["n"], said["device"], said["rate"]) == ("256", "NVIDIA H100 SXM5", "286 TFLOP/s")
    assert (said["peak"], said["share"]) == ("989 TFLOP/s", "29%")
    page.send("context", value="orin_nx_16gb")
    html = page.reload().parts["act1_message"].text
    said = page.slots("act1.message", html)
    assert (said["device"], said["rate"], said["peak"]) == ("Jetson Orin NX", "8.74 TFLOP/s", "15 TFLOP/s")
    assert "312" not in bare(html)  # erratum 23


def test_the_key_is_the_engine_s_for_the_message_s_own_case(bench):
    assert bench.lab.question("act1").answer == "memory"
    for slug in ("h100_sxm", "orin_nx_16gb"):
        assert gemm.premise(hardware(slug)).at.regime == "memory"
    assert f"{gemm.PREMISE_N}**3" in bench.lab.question("act1").key


# --- Act I


def test_first_reading(bench):
    """N = 512 in FP16 on an H100, by hand: 2·512/(3·2) = 170.7; 3.35 TB/s × 170.7 = 572 TFLOP/s; of 989 that is 57.8%."""
    view = bench.turn("act1", n=512)
    assert cards(view) == {
        "Arithmetic intensity": "171 FLOP/B", "Share of peak": "57.8%", "Bound by": "memory",
    }  # fmt: skip
    assert "2 × 512 / 3 × 2" in bare(view["formula"]) and "= 572 TFLOP/s" in bare(view["formula"])
    assert bench.slots("act1.crossing", view["note"])["crossing"] == "886"
    hover = told(now(view))
    assert hover == {
        "arithmetic": "268 MFLOP", "bytes": "1.57 MB", "AI": "171 FLOP/B", "attainable": "572 TFLOP/s", "of the peak": "57.8%",
        "bound": "memory-bound",
    }  # fmt: skip
    lines = [line for line in marks(view, "roofs", "line") if line.get("hover")]
    sources = [row for line in lines for row in line["hover"] if isinstance(row, str)]  # the roofs tell them; a point's box stays small
    assert (
        len(sources) >= 2 and not any(isinstance(row, str) for row in now(view)["hover"]) and all("NVIDIA" in source for source in sources)
    )


def test_the_table_of_sizes(bench):
    after = bare(bench.piece("act1.instrument").view["after"])
    assert "128 42.7 143 TFLOP/s 14% memory-bound" in re.sub(r"(?<=\d)(?=[A-Z])", " ", spaced(bench, "sizes"))
    assert "341" in after and "2,730" in after


def spaced(bench, which):
    """A table's cells with spaces between them."""
    html = bench.piece("act1.instrument").view["after"]
    found = re.findall(r"<table.*?</table>", html)[["sizes", "formats"].index(which)]
    return " ".join(bare(re.sub(r"</t[dh]>", " ", found)).split())


def test_dragging_goes_along_the_roof_by_n(bench):
    drag = now(bench.piece("act1.instrument").view)["drag"]
    assert drag["dial"] == "n" and drag["axis"] == "x" and len(drag["stops"]) == 64
    assert drag["stops"][0] == [pytest.approx(128 / 3), 128] and drag["stops"][-1] == [pytest.approx(8192 / 3), 8192]
    apart = now(bench.turn("act1", shape="apart", m=1, k=4096))["drag"]["stops"]
    assert apart[-1][0] == pytest.approx(2 * 8192 * 4096 / ((4096 + 4096 * 8192 + 8192) * 2)) and apart[-1][1] == 8192


def test_m_n_and_k_apart(bench):
    view = bench.turn("act1", shape="apart", m=8, n=4096, k=4096)
    assert cards(view)["Arithmetic intensity"] == "7.97 FLOP/B"
    assert [view["dials"][name]["hidden"] for name in ("m", "k")] == [False, False]
    assert [bench.turn("act1", shape="square")["dials"][name]["hidden"] for name in ("m", "k")] == [True, True]
    assert "MNK" in bare(view["formula"])


def test_precision_moves_intensity_and_ridge_together(bench):
    """Errata 15, 16: each format has its own ridge, and half the bytes double the intensity."""
    half = bench.turn("act1", dtype="fp8", n=512)
    assert cards(half)["Arithmetic intensity"] == "341 FLOP/B" and cards(half)["Share of peak"] == "57.8%"
    assert marks(half, "roofs", "rule")[0]["x"] == pytest.approx(590.7, abs=0.1)
    single = bench.turn("act1", dtype="fp32")
    assert cards(single)["Bound by"] == "compute" and marks(single, "roofs", "rule")[0]["x"] == pytest.approx(20.0)
    every = bench.turn("act1", dtype="fp16", formats=True)
    points = {m["id"]: m for m in marks(every, "roofs", "point")}
    assert points["format-fp8"]["x"] == pytest.approx(2 * points["now"]["x"]) and points["format-fp8"]["y"] == pytest.approx(
        2 * points["now"]["y"], rel=0.001
    )
    assert points["format-fp32"]["x"] == pytest.approx(points["now"]["x"] / 2)
    rows = spaced(bench, "formats")
    assert "FP16 2 171 295 0.578 memory-bound" in rows and "FP8 1 341 591 0.578 memory-bound" in rows
    assert "FP32 4 85.3 20 4.27 compute-bound" in rows


def test_ridges_of_one_place_are_one_label(bench):
    labels = [m["label"].replace("\u202f", " ") for m in marks(bench.turn("act1", formats=True, measured="none"), "roofs", "rule")]
    assert labels == ["FP16, BF16 295 FLOP/B", "FP32 20 FLOP/B", "TF32 148 FLOP/B", "FP8, INT8 591 OP/B"]


def test_two_machines_and_memory_levels(bench):
    view = bench.turn("act1", beside="a100_80gb_sxm", levels="all", dtype="fp32", measured="none")
    slopes = [m["label"].replace("\u202f", " ") for m in marks(view, "roofs", "line") if str(m.get("id", "")).startswith("slope")]
    assert slopes[0] == "H100: 3.35 TB/s" and "A100: 2.04 TB/s" in slopes and any("L2" in label for label in slopes) and len(slopes) == 5
    ridges = {m["name"]: m["x"] for m in marks(view, "roofs", "rule")}
    assert ridges["ridge: A100, FP32"] == pytest.approx(19.5e12 / 2.039e12)  # erratum 26: below 10
    assert told(marks(view, "roofs", "point", id="beside")[0])["bound"] == "compute-bound"
    said = bench.slots("act1.in_cache", view["note"])
    assert (said["level"], said["size"]) == ("L2 cache", "50 MiB")
    assert bench.shows("act1.out_of_cache", bench.turn("act1", n=8192)["note"])


def test_a_format_or_level_that_a_device_lacks_is_disabled_with_the_reason(bench):
    view = bench.turn("act1", device="tpu_v5e", dtype="bf16")
    formats = {o["value"]: o["disabled"] for o in view["dials"]["dtype"]["options"]}
    assert "the TPU v5e has no FP16 rate; it has FP32, BF16, INT8" in formats["fp16"] and formats["bf16"] is None
    levels = {o["value"]: o["disabled"] for o in bench.turn("act1", device="a17_npu", dtype="fp16")["dials"]["levels"]["options"]}
    assert "no such level" in levels["all"] and levels["main"] is None
    view = bench.turn("act1", device="orin_nx_16gb", dtype="fp8")
    assert view["error"]["dial"] == "dtype" and view["moved"]["dtype"] == {"asked": "fp8", "value": "fp16"}


def test_measured_points_lie_under_the_h200_s_roof(bench):
    """At N = 512 the roof is 819 TFLOP/s, a graph replay reaches 67, a call from Python 8."""
    view = bench.turn("act1", measured="both")
    points = {m["name"]: told(m) for m in marks(view, "roofs", "point") if "measured" in m["name"]}
    python, graph = (points[f"H200 measured, {how}, FP16, N = 512"] for how in ("from Python", "graph replay"))
    assert (python["attainable"], python["reached"], graph["reached"]) == ("819 TFLOP/s", "7.99 TFLOP/s", "67.4 TFLOP/s")
    assert len(points) == 10 + 5  # 128 to 16384 from Python, to 1536 from a graph
    assert any(m["name"] == "ridge: H200, FP16" for m in marks(view, "roofs", "rule"))
    alone = bench.turn("act1", measured="graph")
    assert {m["name"].split(", ")[1] for m in marks(alone, "roofs", "point") if "measured" in m["name"]} == {"graph replay"}


def test_the_gap_has_names_and_sizes(bench):
    view = bench.turn("act1", measured="python", n=512)
    bars = {m["name"]: m["x"] for m in marks(view, "gap", "bar")}
    assert list(bars) == [
        "the roof",
        "tiles and waves",
        "clock and issue",
        "power limit",
        "kernel floor",
        "launch",
        "rest",
        "measured from Python",
    ]
    assert bars["launch"] == pytest.approx(29.6e-6, rel=0.01) and bars["measured from Python"] == pytest.approx(33.6e-6)
    said = bench.slots("act1.gap", view["note"])
    assert (said["tiles"], said["tile"], said["waves"], said["filled"]) == ("64", "64 × 64", "1 wave", "48%")
    assert said["source"].startswith("evidence h200_sxm/micro") and bench.slots("act1.gap_launch", view["note"])["launch"] == "29.6 µs"
    far = bench.turn("act1", n=8192)
    assert bench.shows("act1.gap_no_replay", far["note"]) and "launch and rest" in str(figure(far, "gap")["y"]["names"])
    assert sum(run.gap.power > 0 for run in gemm.runs("fp16")) == 1
    said = bench.slots("act1.gap_power", far["note"])
    assert said == {"n": "16,384", "rate": "656 TFLOP/s", "best_n": "8,192", "best": "743 TFLOP/s", "power": "1.56 ms"}
    worst = max(abs(run.gap.rest) / run.seconds for run in gemm.runs("fp16") if run.gap.launch is not None)
    assert worst < 0.25


def test_pins_are_drawn_named_and_can_be_dragged(bench):
    pin = {"name": "half", "values": {"device": "h200_sxm", "dtype": "fp8", "shape": "square", "n": 1024}}
    view = bench.turn("act1", pins=[pin], n=512)
    point = marks(view, "roofs", "point", id="pin-0")[0]
    assert point["label"] == "half" and point["x"] == pytest.approx(2 * 1024 / 3) and point["hollow"]
    assert point["drag"]["pin"] == 0 and point["drag"]["dial"] == "n" and len(point["drag"]["stops"]) == 64
    assert any(m["name"] == "ridge: H200, FP8" for m in marks(view, "roofs", "rule"))
    assert view["dials"]["pins"]["suggest"] == "H100 FP16 512"
    for bad in ([{"name": "x" * 41, "values": {}}], [{"name": "a", "values": {"beside": "none"}}], "all", [pin] * 9):
        assert bench.turn("act1", pins=bad)["error"]["dial"] == "pins"
    lost = bench.turn("act1", pins=[{"name": "odd", "values": {"device": "orin_nx_16gb", "dtype": "fp8", "n": 256}}])
    assert "Orin NX, FP16, N = 256" in marks(lost, "roofs", "point", id="pin-0")[0]["name"]  # as a dial that can't stand there


def test_reveal_for_each_option(page):
    page.predict("act1", "tiles")
    text = bare(page.reload().parts["act1_reveal"].text)
    assert "on the wrong side of the ridge, which is at 3.46× the product's intensity" in text
    feedback = page.slots("act1.feedback.tiles", page.reason("act1")["text"])
    assert feedback == {"intensity": "85.3 FLOP/B", "ridge": "295 FLOP/B"}
    said = marks(page.piece("act1.instrument").view, "roofs", "point", id="said")[0]
    truth = marks(page.piece("act1.instrument").view, "roofs", "point", id="truth")[0]
    assert said["x"] > 295 > truth["x"] and said["y"] == 989e12


def test_precision_in_words_is_the_device_s_own(page):
    """On the Orin INT8 has more than four times the FP16 rate: nothing there "doubles" but the intensity."""
    page.predict("act1", "memory")
    said = page.slots("act1.reveal", page.reload().parts["act1_reveal"].text)
    assert (said["peak_gain"], said["before"], said["after"]) == ("2", "memory-bound", "memory-bound")
    page.send("context", value="orin_nx_16gb")
    page.reload()
    said = page.slots("act1.reveal", page.parts["act1_reveal"].text)
    assert (said["narrow"], said["peak_gain"]) == ("INT8", "2.01")
    said = page.slots("act1_reflection.feedback.precision", page.reflect("act1", "precision")["answered"]["feedback"])
    assert (said["narrow"], said["narrow_intensity"], said["intensity"]) == ("INT8", "171 OP/B", "85.3 FLOP/B")
    assert (said["narrow_ridge"], said["ridge"]) == ("294 OP/B", "146 FLOP/B")


@pytest.mark.parametrize(
    ("option", "distance", "figures"),
    [
        ("bug", "on the wrong side of the ridge", {"large_n": "8,192", "large_intensity": "2,731 FLOP/B"}),
        ("memory", "right, because the ridge is at 3.46×", {"ridge": "295 FLOP/B"}),
        ("maximum", "on the wrong side of the ridge", {"large_intensity": "2,731 FLOP/B", "peak": "989 TFLOP/s"}),
    ],
)
def test_the_other_predictions(page, option, distance, figures):
    page.predict("act1", option)
    html = page.reload().parts["act1_reveal"].text
    told = page.slots(f"act1.feedback.{option}", page.reason("act1")["text"])
    assert distance in bare(html) and figures.items() <= told.items()


# --- Act II


def test_the_key_of_act_ii_follows_the_stated_case(bench):
    """By hand: RMSNorm 4/4, softmax 5/4, the projection 8 rows 7.97 and 4,096 rows 1,365, against 295."""
    assert bench.lab.question("act2").answer == "split"
    text = bare(bench.parts["act2_reveal"].text)
    said = bench.slots("act2.reveal", bench.parts["act2_reveal"].text)
    assert (said["few"], said["gemm_few"]) == ("8", "7.97 FLOP/B, memory-bound")
    assert (said["ridge"], said["vector_ridge"]) == ("295 FLOP/B", "39.9 FLOP/B")  # 989 and 133.8 TFLOP/s over 3.35 TB/s
    assert (said["many"], said["gemm_many"]) == ("4,096", "1,370 FLOP/B, compute-bound")
    assert (said["norm"], said["softmax"]) == ("1 FLOP/B, memory-bound", "1.25 FLOP/B, memory-bound")
    assert (said["norm_three"], said["softmax_three"], said["crossing"]) == ("0.667 FLOP/B", "0.833 FLOP/B", "345")
    assert "rms" in kernels.NAMES["norm"].lower()  # Llama 3 has no layer norm
    assert "wrong about 1 of 4 points: projection (prefill)" in text
    claimed = [m["id"] for m in marks(bench.piece("act2.instrument").view, "kernels", "point") if m["id"].startswith("said")]
    assert claimed == ["said-few", "said-many", "said-norm", "said-softmax"]


def test_memory_of_llama_3_8b_by_hand(bench):
    """16.06 GB of weights, 131,072 bytes a token, and live activations led by the logits of every position."""
    case = layer.Case(hardware("h100_sxm"))
    need = case.footprint
    assert need.weights == 2 * 8_030_261_248 + 2 * 64  # and 64 rotary frequencies
    assert need.kv_cache == 131_072 * 8 * 512
    logits = 2 * 8 * 512 * 128_256
    assert logits < need.activations < 1.05 * logits
    banner = bench.piece("act2.instrument").view["banner"]
    said = bench.slots("act2.fits", banner["text"])
    assert banner["tone"] == "good" and (said["weights"], said["cache"], said["activations"]) == ("16.1 GB", "0.537 GB", "1.08 GB")
    assert (said["required"], said["available"]) == ("17.7 GB", "84.4 GB")
    kept = bench.slots("act2.kept", bench.piece("act2.instrument").view["after"])
    assert kept == {"capacity": "80 GiB", "reserved": "1.5 GB"} and need.usable == (80 - 1.4) * 2**30
    bars = marks(bench.piece("act2.instrument").view, "budget", "bar")
    assert [m["x1"] - m["x0"] for m in bars] == pytest.approx([need.weights, need.kv_cache, need.activations])


def test_memory_of_llama_3_70b_by_hand(bench):
    """70,553,706,496 parameters; 2·80·8·128·2 = 327,680 bytes a token."""
    view = bench.turn("act2", model="llama3_70b", phase="decode", batch=4, context=1024)
    need = layer.Case(hardware("h100_sxm"), "llama3_70b", "decode", 4, 1024).footprint
    assert need.weights == pytest.approx(2 * 70_553_706_496, rel=1e-8) and need.kv_cache == 327_680 * 4 * 1024
    assert view["banner"]["tone"] == "fail" and bench.slots("act2.way_format", view["banner"]["text"])["formats"] == "FP8, INT8, INT4"
    small = bench.turn("act2", weights="int4")
    assert small["banner"]["tone"] != "fail" and cards(small)["Memory"].startswith("36.")


def test_activations_are_the_live_set_of_the_whole_model():
    """Erratum 19: not half of the weights. The measured peak for this batch and sequence is 1.09 GB."""
    whole = serving(workload("llama3_8b", batch=8, seq=512))
    case = layer.Case(hardware("h200_sxm"), tiled=True)
    assert case.footprint.activations == float(live_activations(whole))
    measured = claims.row("h200_sxm/models", workload="llama3_8b", batch=8, phase="prefill", mode="eager").value("activation_bytes")
    assert case.footprint.activations == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("fusion", ["separate", "adjacent", "all"])
@pytest.mark.parametrize(("phase", "tiled"), [("prefill", True), ("prefill", False), ("decode", True), ("decode", False)])
def test_activations_at_any_size_are_the_graph_s(fusion, phase, tiled):
    """The lab asks a few sizes and knows the rest: linear in the batch, at most quadratic in the context."""
    for model, batch, context in (("llama3_8b", 8, 513), ("qwen2_0_5b", 3, 4096), ("llama3_8b", 77, 9)):
        case = layer.Case(hardware("h100_sxm"), model, phase, batch, context, fusion=fusion, tiled=tiled)
        assert case.activations == float(live_activations(case.graph)), (model, batch, context)


def test_tokens_per_second_count_the_whole_model_and_the_weight_reads(bench):
    """Decode at batch 1: every weight but the embedding table is read once. 15.01 GB at 3.35 TB/s are 4.48 ms."""
    view = bench.turn("act2", phase="decode", batch=1, tiled=True)
    read = 2 * (8_030_261_248 - 128_256 * 4096) / 3.35e12
    seconds = layer.Case(hardware("h100_sxm"), phase="decode", batch=1, tiled=True).seconds
    assert read < seconds < 1.1 * read
    assert int(cards(view)["Tokens/s"]) == pytest.approx(1 / seconds, rel=0.01)
    deep = layer.Case(hardware("h100_sxm"), phase="decode", batch=64, context=4096, tiled=True)
    cache = 131_072 * 64 * 4096 / 3.35e12
    assert read + cache < deep.seconds < 1.1 * (read + cache)
    note = next(card["note"] for card in view["cards"] if card["label"] == "Tokens/s")
    assert "per user" in note and "a bound" in note


def test_measured_curves_come_near_the_measured_run(bench):
    """Llama-3-8B, one token, batch 1, context 512 on the H200: 6.3 ms busy."""
    busy = claims.row("h200_sxm/models", workload="llama3_8b", phase="decode", batch=1, context=512, mode="eager").value("busy_s")
    case = layer.Case(hardware("h200_sxm"), phase="decode", batch=1, tiled=True, measured=True)
    assert case.seconds == pytest.approx(busy, rel=0.2)
    view = bench.turn("act2", device="h200_sxm", measured=True, phase="decode")
    dots = marks(view, "layer", "point")
    assert all("reached" in told(m) for m in dots) and "measured curves" in bare(view["after"])


def test_a_machine_that_nobody_measured_takes_its_rates_from_others_and_says_so(bench):
    def offered(device):
        return {o["value"]: o for o in bench.turn("act2", device=device, measured=False)["dials"]["measured"]["options"]}

    assert offered("h100_sxm")[True]["label"] == "≈ from other machines" and not offered("h100_sxm")[True]["disabled"]
    assert "was not measured" in offered("tpu_v5e")[True]["disabled"]
    bound, near = (layer.Case(hardware("h100_sxm"), phase="decode", measured=measured) for measured in (False, True))
    assert (bound.basis, near.basis) == ("bound", "transferred") and bound.seconds < near.seconds < 2 * bound.seconds
    view = bench.turn("act2", device="h100_sxm", measured=True, phase="decode")
    assert "good to a few tens of percent" in bare(view["after"])
    assert next(card["note"] for card in view["cards"] if card["label"] == "Tokens/s").endswith("; ≈")


def test_every_op_is_a_point_or_a_bar_and_the_longest_is_the_bottleneck(bench):
    view = bench.piece("act2.instrument").view
    case = layer.Case(hardware("h100_sxm"))
    counted = sum(
        int(re.search(r"and (\d+) like it", m["name"])[1]) + 1 if "like it" in m["name"] else 1 for m in marks(view, "layer", "point")
    )
    silent = sum(1 for row in case.rows if row.work.flops == 0)
    assert counted + silent == len(case.rows) == 40
    bars = marks(view, "times", "bar")
    assert sum(m["x"] for m in bars) == pytest.approx(case.layer_seconds)
    alike = ["gate projection", "up projection", "down projection"]  # of one width: nobody is told that one of them takes longest
    assert [m["name"] for m in bars if m.get("emphasis")] == alike
    assert figure(view, "layer")["x"]["domain"][0] == 0.01
    told = bench.slots("act2.bottlenecks", view["after"])["longest"]
    assert all(f"“{name}”" in told for name in alike)


def test_phases_change_the_projection_s_side(bench):
    assert cards(bench.piece("act2.instrument").view)["Projection GEMM"] == "1,370"
    decode = bench.turn("act2", phase="decode")
    assert cards(decode)["Projection GEMM"] == "7.97"
    point = next(m for m in marks(decode, "layer", "point") if m.get("label") == "projection")
    assert point["drag"]["dial"] == "batch" and [7.97, 8] in [[round(x, 2), batch] for x, batch in point["drag"]["stops"]]


def test_fusion_is_the_planner_s_answer(bench):
    """Errata 20, 27: no typed factor; and softmax never shares a kernel with a norm."""
    apart = bench.piece("act2.instrument").view
    adjacent, fused = bench.turn("act2", fusion="adjacent"), bench.turn("act2", fusion="all")
    separate = bench.slots("act2.unfused", apart["after"])
    assert (separate["kernels"], separate["gain"]) == ("40", "1.26")
    for view, count in ((adjacent, "25"), (fused, "14")):
        said = bench.slots("act2.fused", view["after"])
        assert (said["kernels"], said["before"]) == (count, "40")
    for view in (apart, adjacent, fused):
        names = [m["name"] for m in marks(view, "times", "bar")]
        assert not any("softmax" in name and "norm" in name for name in names)
    seconds = [layer.Case(hardware("h100_sxm"), fusion=level).seconds for level in ("separate", "adjacent", "all")]
    assert seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize("fusion", ["adjacent", "all"])
@pytest.mark.parametrize(("phase", "tiled"), [("prefill", True), ("prefill", False), ("decode", True), ("decode", False)])
def test_the_plan_does_not_hang_on_the_sizes(fusion, phase, tiled):
    """The lab plans once and joins the same ops at every batch and context: planned anew, they come out the same."""
    for model, batch, context in (("llama3_8b", 8, 513), ("qwen2_0_5b", 3, 4096), ("llama3_8b", 32, 32)):
        case = layer.Case(hardware("h100_sxm"), model, phase, batch, context, fusion=fusion, tiled=tiled)
        anew = fuse(served.serving_graph(model, 3, phase, batch, context, "fp16", "fp16", "fp16", tiled), served.RULES[fusion]).graph
        assert [(op.name, op.work) for op in case.graph.ops] == [(op.name, op.work) for op in anew.ops]


def test_tiled_attention_keeps_the_scores_on_chip(bench):
    through, tiled = bench.piece("act2.instrument").view, bench.turn("act2", tiled=True)
    said = bench.slots("act2.through_memory", through["after"])
    assert (said["scores"], said["traffic"], said["saved"]) == ("134 MB", "537 MB", "13%") and bench.shows("act2.tiled", tiled["after"])
    scores = 8 * 32 * 512 * 512 * 2  # written by the first product, read and written by softmax, read by the second
    saved = layer.Case(hardware("h100_sxm")).work.bytes - layer.Case(hardware("h100_sxm"), tiled=True).work.bytes
    assert saved == 4 * scores and saved / layer.Case(hardware("h100_sxm")).work.bytes == pytest.approx(0.13, abs=0.005)
    assert "Softmax" in cards(through) and "Attention (softmax inside)" in cards(tiled)


def test_formats_of_weights_and_cache(bench):
    base = layer.Case(hardware("h100_sxm"), phase="decode", batch=64, context=4096)
    narrow = replace(base, weights="int4")
    assert narrow.footprint.weights < 0.26 * base.footprint.weights and narrow.seconds < base.seconds
    assert (
        replace(base, cache="fp8").footprint.kv_cache == base.footprint.kv_cache / 2 and replace(base, cache="fp8").seconds < base.seconds
    )


@pytest.mark.parametrize(("phase", "way_out"), [("prefill", "act2.oom_less_context"), ("decode", "act2.oom_less")])
def test_out_of_memory_names_the_parts_and_what_fits(bench, phase, way_out):
    view = bench.turn("act2", phase=phase, batch=256, context=32768)
    said = bench.slots("act2.oom", view["banner"]["text"])
    assert view["banner"]["tone"] == "fail" and (said["weights"], said["cache"], said["available"]) == ("16.1 GB", "1.1 TB", "84.4 GB")
    assert {m["colour"] for m in marks(view, "budget", "bar")} == {"ridge", "memory", "muted"}  # a part keeps its colour
    assert marks(view, "budget", "rule")[0]["colour"] == "fail"
    assert bench.lab.readouts["act2"]["oom_triggered"] is True and cards(view)["Tokens/s"] == "–"
    context = int(bench.slots(way_out, view["banner"]["text"])["context"].replace(",", ""))
    case = layer.Case(hardware("h100_sxm"), phase=phase, batch=256)
    assert replace(case, context=context).footprint.fits and not replace(case, context=context + 1).footprint.fits


def test_the_largest_batch_fits_and_one_more_does_not(bench):
    banner = bench.turn("act2", phase="decode", batch=256, context=8192)["banner"]
    most = int(bench.slots("act2.oom_less", banner["text"])["batch"].replace(",", ""))
    assert bench.turn("act2", batch=most)["banner"]["tone"] != "fail" and bench.turn("act2", batch=most + 1)["banner"]["tone"] == "fail"


def test_an_orin_takes_the_smaller_models_only(bench):
    """Erratum 23: 16.06 GB of FP16 weights exceed its 16 GB at every setting."""
    view = bench.turn("act2", device="orin_nx_16gb", batch=1, context=256, phase="decode", cache="int8", tiled=True, fusion="all")
    assert view["banner"]["tone"] == "fail" and bench.shows("act2.oom_weights", view["banner"]["text"])
    assert bench.slots("act2.way_format", view["banner"]["text"])["formats"] == "FP8, INT8, INT4"
    assert bench.turn("act2", model="llama3_2_1b")["banner"]["tone"] == "good"
    large = bench.slots("act2.way_model", bench.turn("act2", model="llama3_70b")["banner"]["text"])
    assert large["models"] == "Llama 3 8B in FP8, Llama 3.2 1B in FP16, Qwen2 0.5B in FP16"


@pytest.mark.parametrize("dial", ["weights", "cache"])
def test_stored_formats_change_memory_and_in_decode_the_time(bench, dial):
    """A prefill's projections are compute-bound: their times stay, and their points move."""
    before = bench.piece("act2.instrument").view
    assert figure(bench.turn("act2", **{dial: "int8"}), "budget") != figure(before, "budget")
    decode = bench.turn("act2", phase="decode", **{dial: "fp16"})
    assert figure(bench.turn("act2", **{dial: "int8"}), "times") != figure(decode, "times")


# --- what Lab 07 hands over


@pytest.mark.parametrize(("enabled", "level"), [(True, "all"), (False, None)])
def test_lab_07_s_design_is_offered_and_not_inherited(tmp_path, enabled, level):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append("lab_07_fusion", "design", {"fusion_enabled": enabled})
        page = Page(ledger, SLUG, SAID).first_act()
        page.predict("act2", "split")
        layer = page.piece("act2.instrument")
        assert layer.state["dials"]["fusion"] == "separate"
        assert [offer["dials"]["fusion"] for offer in layer.spec["offers"]] == ([level] if level else [])
        assert all(offer["label"].startswith("Start from my Lab 07") for offer in layer.spec["offers"])


def test_a_learner_who_did_lab_07_brings_its_fields(tmp_path):
    """The two labs agree on the names: Lab 07 as it is saved, read by Lab 11 as it is."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        before = Page(ledger, "lab_07_fusion")
        complete(before.lab)
        before.reload().save()
        saved = ledger.design("lab_07_fusion")
        page = Page(ledger, SLUG, SAID).first_act()
        page.predict("act2", "split")
        assert len(page.piece("act2.instrument").spec["offers"]) == (1 if saved["fusion_enabled"] else 0)


# --- complete


FIELDS = {
    "context", "operation", "arithmetic_intensity", "bound_type", "peak_share_percent", "act1_prediction", "act1_correct",
    "act2_prediction", "act2_correct", "act2_decision", "constraint_hit", "oom_triggered", "tokens_per_s", "act2_model", "act2_phase",
    "budget_choice", "budget_tokens_per_s", "confidences", "target_choice", "target_estimate", "target_design", "target_met",
    "target_tokens_per_s",
}  # fmt: skip


def test_complete_saves_exactly_the_fields(page):
    page.first_act()
    page.predict("act2", "split", 2)
    page.reload()
    page.reflect("act2", "traffic")
    assert page.reload().ledger.design(SLUG) is None and page.parts["receipt"] is None  # the target is not decided yet
    page.predict("act2_target", "cache", 3, estimate=14_000)
    page.reload().save()
    assert page.ledger.design(SLUG)["budget_choice"] is None and "Spend the budget" not in page.parts["receipt"]  # that is beyond the core
    page.reload().predict("act2_budget", "fuse", 3)
    page.reload().save()
    assert "Spend the budget" in page.reload().parts["receipt"]
    design = page.ledger.design(SLUG)
    assert (design["budget_choice"], design["budget_tokens_per_s"]) == ("fuse", round(budget.premise().rates["fuse"], 1))
    assert design["target_choice"] == "cache" and design["target_estimate"] == 14_000 and design["target_design"] is None
    assert set(design) == {*FIELDS, "dials", "goals"}
    assert design["operation"] == "GEMM 256×256×256 fp16" and design["arithmetic_intensity"] == pytest.approx(85.3333)
    # erratum 24: a bound, not called MFU
    assert design["bound_type"] == "memory" and design["peak_share_percent"] == pytest.approx(28.9, abs=0.01)
    assert (design["act1_prediction"], design["act1_correct"], design["act2_prediction"], design["act2_correct"]) == (
        "bug",
        False,
        "split",
        True,
    )
    assert (
        design["act2_decision"] == "separate"
        and design["constraint_hit"] is False
        and design["tokens_per_s"] == pytest.approx(44820, rel=0.01)
    )
    hud = bare(page.parts["hud"].text)
    said = ("Act I you said “A bug in the kernel”", "Act II you said “Softmax and RMSNorm”")
    shown = "✓ saved|GEMM 85.3 FLOP/B, ≤ 28.9%|Memory ✓ fits|Fusion none"
    for words in (*shown.split("|"), *said, "Tokens/s 44,800"):
        assert words in hud, words
    assert page.parts["receipt"] is not None


# --- the budget


@pytest.fixture(scope="module")
def spent(tmp_path_factory):
    """The whole lab, with the budget spent on fusion."""
    with open_ledger(tmp_path_factory.mktemp("budget") / "ledger.db") as ledger:
        page = Page(ledger, SLUG, SAID).first_act()
        page.predict("act2", "split", 2)
        page.reload()
        page.reflect("act2", "traffic")
        page.reload().predict("act2_target", "cache", 3, estimate=14_000)
        page.reload()
        assert page.piece("act2_budget.instrument").view == {"seq": 0} and page.parts["budget_reveal"] is None
        page.predict("act2_budget", "fuse", 4)
        assert page.piece("act2_budget.instrument").view.get("figures")  # at once, before any reload
        yield page.reload()


def test_the_key_of_the_budget_is_what_the_whole_model_says(spent):
    """And each of the key's bounds is one: the instrument's own rates stay below them."""
    question = spent.lab.question("act2_budget")
    assert question.right.id == budget.premise().best == "batch" and budget.premise("prefill").best == "fuse"
    label = question.option("batch").label
    assert "eight" in label and budget.FACTOR == 8 and f"batch={budget.BATCH}" in question.key.replace("step(8)", "batch=8")
    assert f"context={budget.CONTEXT}" in question.key and f'hardware("{budget.DEVICE}")' in question.key


def test_the_budget_by_hand(spent):
    """Of the step's bytes the weights are read once: 64 sequences cost little more than 8. A perfect GEMM takes the bound's time."""
    now = budget.premise().now
    step = now.seconds
    assert now.tokens == 8 and now.measured and budget.premise().larger.batch == 64
    roof = served.weights_read("llama3_8b", "fp16") / hardware("h200_sxm").bandwidth
    assert now.seconds_at_the_roof > step - now.product_seconds + 0.95 * roof and now.seconds_at_the_roof < step
    assert budget.premise().rates["batch"] == pytest.approx(64 / replace(now, batch=64).seconds)


def test_after_the_choice_the_whole_model_predicts_again(spent):
    view = spent.piece("act2_budget.instrument").view
    bars = {m["id"]: m["x"] for m in marks(view, "budget", "bar")}
    rates = budget.premise().rates
    assert bars == pytest.approx({"now": budget.premise().now.rate, **rates})
    tags = {m["id"]: [tag["text"] for tag in m.get("tags") or []] for m in marks(view, "budget", "bar")}
    assert tags["fuse"] == ["◆ your choice"] and tags["batch"] == ["most"] and tags["gemm"] == []
    said = spent.slots("act2_budget.reveal", spent.parts["budget_reveal"].text)
    assert (said["now"], said["factor"]) == (significant(budget.premise().now.rate), "8")
    assert f"your choice makes {significant(budget.premise().gain('fuse'))}×" in bare(spent.parts["budget_reveal"].text)
    event = spent.ledger.prediction(SLUG, "act2_budget").payload
    assert (event["choice"], event["correct"], event["confidence"]) == ("fuse", False, 4)


def test_the_phase_and_the_fit_decide(spent):
    def rate(**dials):
        start = {"phase": "decode", "batch": 8, "context": 512, "model": "llama3_8b", "device": "h200_sxm"}
        view = spent.turn("act2_budget", **{**start, **dials})
        return view, next(m["id"] for m in marks(view, "budget", "bar") if any(t["text"] == "most" for t in m.get("tags") or []))

    assert rate()[1] == "batch" and rate(phase="prefill")[1] == "fuse"
    view, best = rate(context=32768)
    assert best != "batch" and spent.shows("act2_budget.does_not_fit", view["note"])
    assert spent.shows("act2_budget.at_the_roof", rate(device="tpu_v5e")[0]["note"])
    view = rate(device="h100_sxm")[0]
    assert not spent.shows("act2_budget.at_the_roof", view["note"]) and view["figures"][0]["note"].endswith("≈ from other machines")
    view = spent.turn("act2_budget", device="orin_nx_16gb", model="llama3_70b")
    assert view["banner"]["tone"] == "fail" and {m["x"] for m in marks(view, "budget", "bar")} == {0.0}
    rate()


def test_the_context_moves_device_and_figures(page):
    page.first_act()
    view = page.turn("act1", n=512)
    page.send("context", value="orin_nx_16gb")
    moved = page.piece("act1.instrument").view
    assert page.piece("act1.instrument").state["dials"]["device"] == "orin_nx_16gb"
    assert cards(moved)["Bound by"] == "compute" and cards(view)["Bound by"] == "memory"


# --- keys follow the registry


@pytest.mark.parametrize(
    ("question", "figures", "right"),
    [
        ("act1", {"bandwidth": 1e14}, "maximum"),
        ("act1_reflection", {"peaks": {"fp16": 989e12, "fp8": 1e12}}, "precision"),
        ("act2", {"bandwidth": 1e15}, "alike"),
        ("act2", {"bandwidth": 1e12, "peaks": {"fp16": 1e16}}, "alike"),
        ("act2", {"bandwidth": 1e12, "peaks": {"fp16": 1e16}, "vector": {"fp16": 1e11}}, "gemm"),  # element-wise work has its own ridge
    ],
)
def test_keys_change_with_the_registry(bench, monkeypatch, question, figures, right):
    assert bench.lab.question(question).right.id != right
    changed = replace(hardware("h100_sxm"), **figures)
    monkeypatch.setitem(claims.NAMESPACE, "hardware", lambda name: changed if name == "h100_sxm" else hardware(name))
    assert bench.lab.question(question).right.id == right


# --- errata of Lab 11, as the screen prints them


def test_erratum_14_the_orin_s_ridge(bench):
    view = bench.turn("act1", device="orin_nx_16gb")
    assert marks(view, "roofs", "rule")[0]["x"] == pytest.approx(15e12 / 102.4e9) and "146 FLOP/B" in bare(view["note"])


def test_sizes_are_marked_at_powers_of_two(bench):
    assert figure(bench.turn("act1"), "growth")["x"]["ticks"] == [128, 256, 512, 1024, 2048, 4096, 8192]


def test_errata_17_and_24_the_share_at_512(bench):
    card = next(card for card in bench.piece("act1.instrument").view["cards"] if card["label"] == "Share of peak")
    assert card["note"] == "a bound, not a measured MFU"


def test_a_decoding_step_looks_the_embedding_up(bench):
    """15.01 GB of 16.06 are read: 4.48 ms on an H100, 3.13 on an H200; 1.05 GB are a table of which one row a sequence is read."""
    said = bench.slots("act2.peek", lab_parts.peek(bench.lab, "act2", slots.peek()))
    assert (said["weights"], said["read"], said["floor"]) == ("16.06 GB", "15.01 GB", "4.48 ms")
    read = served.weights_read("llama3_8b", "fp16")
    assert read == 2 * (8_030_261_248 - 128_256 * 4096) + 2 * 4096 and read / hardware("h200_sxm").bandwidth == pytest.approx(
        3.13e-3, rel=0.001
    )


def test_errata_18_and_26_the_kv_cache(bench):
    said = bench.slots("act2.peek", lab_parts.peek(bench.lab, "act2", slots.peek()))
    assert (said["model"], said["per_token"], said["kv_heads"], said["heads"]) == ("Llama 3 8B", "128 KiB", "8", "32")
    assert said["elementwise"] == "0.25 FLOP/B"
    view = bench.turn("act2", batch=256, context=512, phase="decode")
    assert bench.slots("act2.fits", view["banner"]["text"])["cache"] == "17.2 GB"


def test_floors_and_what_was_measured_stand_in_the_claims(bench):
    text = bare(bench.parts["act2_claims"].text)
    assert "3.13 ms" in text and "6.34 ms" in text and "63.3 ms" in text


def test_erratum_25_peaks_are_dense_and_sourced(bench):
    view = bench.turn("act1", dtype="int8")
    drawn = str(figure(view, "roofs")).replace("\\u202f", " ").replace("\u202f", " ")
    assert (
        "1.98 POP/s" in drawn
        and "PFLOP" not in drawn + bare(view["formula"] + view["after"])
        and figure(view, "roofs")["y"]["unit"] == "OP/s"
    )
    assert " TOP/s" in told(now(view))["attainable"] and "FLOP/s" in told(now(bench.turn("act1", dtype="fp8")))["attainable"]
    orin = bench.turn("act1", device="orin_nx_16gb", dtype="fp32")
    assert told(now(orin))["attainable"] == "1.88 TFLOP/s"  # its own FP32 peak
    assert hardware("h100_sxm").level("main").label == "HBM3"


def test_erratum_26_the_ridge_can_be_below_ten(bench):
    """An A100 in plain FP32: 19.5 TFLOP/s over 2.04 TB/s."""
    assert bench.slots("act1.crossing", bench.turn("act1", device="a100_80gb_sxm", dtype="fp32")["note"])["ridge"] == "9.56 FLOP/B"


@pytest.mark.parametrize("act", ["act1", "act2"])
def test_every_device_of_the_menu_works(bench, act):
    devices = next(dial for dial in bench.piece(f"{act}.instrument").spec["dials"] if dial["id"] == "device")["options"]
    assert len(devices) == 9
    for option in devices:
        view = bench.turn(act, device=option["value"], **({"measured": "python"} if act == "act1" else {}))
        assert len(view["figures"]) >= 3 and view["cards"], option


def test_the_learner_s_own_machine_is_a_context(tmp_path, monkeypatch):
    """Once it was measured; a CPU without a two-byte format here, so Act II multiplies in FP32."""
    home = tmp_path / "home"
    (home / "hardware").mkdir(parents=True)
    source = (LABS.parent / "registry" / "hardware" / "laptop_cpu.toml").read_text()
    (home / "hardware" / "this_machine.toml").write_text(re.sub(r"\[peak\.bf16\]\n(.+\n)+", "", source))
    monkeypatch.setenv("IRONLAW_HOME", str(home))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        page = Page(ledger, SLUG, SAID)
        page.send("context", value="this_machine")
        assert "on the NVIDIA H100 SXM5" in bare(page.reload().parts["act1_message"].text)  # the question is about two devices
        page.first_act()
        assert page.piece("act1.instrument").state["dials"]["device"] == "h100_sxm"  # the reveal is about it, so the screen is too
        page.predict("act2", "split")
        page.send("context", value="this_machine")
        assert page.piece("act1.instrument").state["dials"]["device"] == "this_machine"
        assert "this machine, FP32" in bare(str(page.piece("act1.instrument").view["note"]))
        assert "multiplied in FP32" in bare(page.piece("act2.instrument").view["after"])


def test_act_two_opens_on_the_question_s_device_whichever_was_chosen_elsewhere(tmp_path):
    """Where another lab chose the Jetson, Act I is asked about it; Act II is about the H100, and so are its banner and its dials."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append("lab_01_magnitude", "context", {"context": "orin_nx_16gb"})
        page = Page(ledger, SLUG, SAID)
        page.first_act()
        assert page.piece("act1.instrument").state["dials"]["device"] == "orin_nx_16gb"
        page.predict("act2", "split")
        shown = page.piece("act2.instrument")
        assert shown.state["dials"]["device"] == "h100_sxm" and shown.view["banner"]["title"] == "It fits"
        page.send("context", value="orin_nx_16gb")  # a click away
        assert shown.state["dials"]["device"] == "orin_nx_16gb" and shown.view["banner"]["title"] == "Out of memory"


# --- axes


def test_the_memory_axis_moves_in_steps(bench):
    """While a design fits the axis is the machine's; it doubles where it must."""
    usable = hardware("h100_sxm").usable
    ends = [figure(bench.turn("act2", batch=batch, context=2048), "budget")["x"]["domain"][1] for batch in (1, 8, 64, 256)]
    assert ends[0] == ends[1] == ends[2] == pytest.approx(1.25 * usable)
    assert ends[3] / ends[0] in (1, 2, 4, 8)


def test_the_norm_s_card_and_the_reveal_s_figure_are_told_apart(bench):
    """By hand: square, mean and two products are four operations on an element of two bytes, read once and written once."""
    for phase in ("prefill", "decode"):
        told = bench.slots("act2.norm", bench.turn("act2", phase=phase, fusion="all")["after"])
        assert (told["each"], told["once"]) == ("4", "1 FLOP/B") and kernels.intensity("norm") == pytest.approx(1)
        assert told["now"].startswith(cards(bench.piece("act2.instrument").view)["Norm"].split()[0])


def test_the_longest_op_has_a_name_under_the_roof(bench):
    for dials in ({"phase": "prefill"}, {"phase": "decode"}, {"phase": "decode", "batch": 256, "context": 32768}):
        view = bench.turn("act2", **dials)
        points = marks(view, "layer", "point")
        assert max(points, key=lambda point: point["size"]).get("label"), dials


def test_fused_ops_are_called_by_what_they_hold(bench):
    names = figure(bench.turn("act2", device="h200_sxm", phase="decode", fusion="all", tiled=True), "times")["y"]["names"]
    assert {"input norm", "output projection → second norm", "gate projection → gate × up", "1 other"} <= set(names)
    assert not [name for name in names if set(name) & set("._…′")]  # no code, and none twice


def test_the_tile_counts_up_to_the_intensity_of_the_card(bench):
    view = bench.piece("act1.instrument").view
    (tile,) = view["motions"]
    card = next(card for card in view["cards"] if card["label"] == "Arithmetic intensity")
    counted = next(counter for counter in tile["counters"] if counter[0] == "intensity so far")
    assert significant(counted[1][-1][1]) == card["value"] and card["value"] in tile["title"] and tile["caption"]
