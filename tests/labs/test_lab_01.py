"""Lab 01 at the level of what it shows and what the ledger holds."""

import re
from dataclasses import replace

import pytest
from headless import bare

from ironlaw import claims, hardware
from ironlaw.kit.frame import receipt
from ironlaw.labs.lab_01_magnitude.act2 import reuse

SLUG = "lab_01_magnitude"
SAID = {"act1": "e9", "act1_reflection": "own_stack", "act2": "memory", "act2_reflection": "memory"}
DEVICES = ("h100_sxm", "orin_nx_16gb", "a17_npu", "cortex_m7")


# --- locked


def figures_of_devices():
    """How each device's figures would read on a page."""
    from ironlaw.kit.prose import capacity
    from ironlaw.units import show

    for slug in DEVICES:
        for figure in hardware(slug).figures.values():
            yield show(figure.value, figure.unit)
        yield capacity(hardware(slug).capacity)


def test_no_device_figure_and_no_answer_before_the_first_lock(page):
    assert len(set(figures_of_devices())) > 25
    for figure in figures_of_devices():
        assert not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\w)", page.text), figure
    for words in ("989", "million", "six orders", "GHz", "MHz", "TFLOP", "KiB", " GB", "misconception"):
        assert words not in page.text, words
    assert "sealed until you commit" in page.text
    assert page.piece("act1.instrument").view == {"seq": 0}


def test_the_header_gives_nothing_away(page):
    text = bare(page.parts["header"].text)
    assert "D·A·M" in text and "about 35 minutes" in text and "Iron Law" in text
    assert "stack" not in text and "memory-bound" not in text  # the reflection's answer, the second prediction's


def test_the_story_s_premises_are_there(page):
    told = page.slots("act1.message", page.parts["act1_message"].text)
    assert (told["mcu_price"], told["cloud_spend"]) == ("&#36;2.40", "&#36;50,000")


# --- Act I


def test_gap_table_of_h100_and_m7(bench):
    note = bare(bench.piece("act1.instrument").view["note"])
    for ratio in ("9.89 times 10 to the power of 56.0", "6.7 × 10⁴", "1.64 × 10⁵", "7,000×3.8"):
        assert ratio in note
    assert "512 KiB" in note and "80 GiB" in note


def test_gap_table_of_any_two(bench):
    view = bench.turn("act1", a="orin_nx_16gb", b="a17_npu")
    assert "Jetson Orin NX" in view["note"]
    assert [card["value"] for card in view["cards"]] == ["1.72", "2", "2", "5"]
    assert "FLOP" not in view["formula"] and "TOP/s" in bare(view["formula"]) and "60.2 TOP/s" in bare(view["note"])  # INT8 on both


def test_a_device_against_itself_and_an_inverted_gap(bench):
    cards = bench.turn("act1", a="cortex_m7", b="cortex_m7")["cards"]
    assert all((card["value"], card["word"], card["tone"]) == ("1", "0 orders", "") for card in cards)
    view = bench.turn("act1", a="cortex_m7", b="h100_sxm")
    assert [card["value"] for card in view["cards"]] == ["1.01 × 10⁻⁶", "1.49 × 10⁻⁵", "6.1 × 10⁻⁶", "1.43 × 10⁻⁴"]
    assert view["cards"][0]["word"] == "−6.0 orders"


def test_the_dials_are_seen_in_the_picture_and_a_million_is_felt(bench):
    def tagged(figure):
        return {mark["id"]: mark["tags"][0]["text"] for mark in figure["marks"] if mark.get("tags")}

    first, scaled, *others = bench.turn("act1", a="a17_npu", b="cortex_m7", scale="linear")["figures"]
    assert scaled["title"] == "35,000 to 1, to scale" and "a single square of that is the Cortex-M7" in scaled["caption"]
    assert tagged(first) == {"a17_npu": "A", "cortex_m7": "B"} and all(tagged(other) == tagged(first) for other in others)
    assert {figure["x"]["scale"] for figure in (first, *others)} == {"linear"}
    assert "1 mm for the Cortex-M7 MCU" in first["foot"] and first["foot"].endswith("would need 35 m.")  # 35 T over 1 G, in millimetres
    assert bench.turn("act1", a="h100_sxm")["figures"][0]["foot"].endswith("would need 989 m.")
    inverted = bench.turn("act1", a="cortex_m7", b="h100_sxm")["figures"][0]["foot"]
    assert inverted.endswith("would need 989 m.")


def test_number_formats_are_said_and_can_be_made_common(bench):
    view = bench.piece("act1.instrument").view
    assert "format" in view["figures"][0]["x"]["label"] and "INT8 sparse" in str(view["figures"][0])
    assert "INT8 with 2:4 sparsity" in bare(view["note"])
    common = bench.turn("act1", formats="int8")
    assert "All rates are dense INT8" in bare(common["note"])
    values = {mark["y"]: mark["x"] for mark in common["figures"][0]["marks"] if mark["type"] == "dot"}
    assert values["Jetson Orin NX"] == pytest.approx(30.1e12) and values["NVIDIA H100 SXM5"] == 1979e12
    assert not [mark for mark in common["figures"][0]["marks"] if mark.get("role")]  # the prediction is about other formats


def test_every_axis_has_sources_on_hover(bench):
    axes = [figure for figure in bench.piece("act1.instrument").view["figures"] if figure["id"].startswith("ladder-")]
    assert len(axes) == 4 and all(mark["hover"][-1] for figure in axes for mark in figure["marks"])


def test_reveal_names_the_distance_and_what_each_gap_means(bench):
    text = bare(bench.parts["act1_reveal"].text)
    assert "too high by a factor of 1,010, or 3 orders of magnitude" in text
    told = bench.slots("act1.reveal", bench.parts["act1_reveal"].text)
    orders = {axis: told[f"{axis}_orders"] for axis in ("compute", "capacity", "bandwidth", "power")}
    assert orders == {"compute": "6.0", "capacity": "5.2", "bandwidth": "4.8", "power": "3.8"}
    marks = {mark["role"]: mark for mark in bench.piece("act1.instrument").view["figures"][0]["marks"] if mark.get("role")}
    assert marks["truth"]["x"] == pytest.approx(989e12) and marks["prediction"]["x"] == pytest.approx(1e18)
    assert "3 orders" in marks["prediction"]["distance"]


@pytest.mark.parametrize(
    ("option", "told"),
    [("e2", "too low by a factor of 9,890, or 4"), ("e4", "too low by a factor of 98.9, or 2"), ("e6", "right to within 1.1%")],
)
def test_the_other_predictions(page, option, told):
    page.predict("act1", option)
    assert told in bare(page.reload().parts["act1_reveal"].text)


def test_claims_and_peek_come_with_the_reveal(bench):
    assert "743 TFLOP/s" in bare(bench.parts["act1_claims"].text)  # measured, where the headline says 1,979
    peek = bare(bench.parts["act1_peek"].text)
    assert "DataVolume" not in peek and bench.slots("act1.peek", bench.parts["act1_peek"].text)["compute_gap"] == "989,000×"


# --- Act II


def test_key_of_the_second_prediction_and_by_how_much(bench):
    """Memory 15.4 µs, overhead 10 µs, compute 8.27 µs: by hand from D = 2·(params + buffers) + I/O and the datasheet."""
    assert bench.lab.question("act2").answer == "memory"
    cards = {card["label"]: card["value"] for card in bench.piece("act2.instrument").view["cards"]}
    assert (cards["Memory, D/BW"], cards["Overhead, L"], cards["Compute, O/R"]) == ("15.4", "10", "8.27")
    assert bench.slots("act2.reveal", bench.parts["act2_reveal"].text)["lead"] == "1.54"


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("compute", "off by a factor of 1.86, because your term takes 8.27 µs"),
        ("overhead", "off by a factor of 1.54"),
        ("equal", "largest is 1.86 times the smallest"),
        ("memory", "right, and it leads the next by a factor of 1.54"),
    ],
)
def test_distances_in_act_ii(half, option, told):
    half.predict("act2", option)
    assert told in bare(half.reload().parts["act2_reveal"].text)
    drawn = half.piece("act2.instrument").view["figures"][0]
    assert "you said" in str([mark.get("label") for mark in drawn["marks"]]) and "bottleneck" in str(drawn["legend"])


def test_on_the_microcontroller_compute_wins_under_every_byte_convention(bench):
    """Erratum 4: 102.4 MB of weights at 50 MB/s are 2.05 s; every op's activations, 323.6 MB at 1.92 GB/s, add 0.17 s."""

    def terms(**dials):
        view = bench.turn("act2", device="cortex_m7", dtype="fp32", **dials)
        return {card["label"]: f"{card['value']} {card['unit']}" for card in view["cards"]}, [
            c["label"] for c in view["cards"] if c["note"] == "bottleneck"
        ]

    values, binds = terms(convention="weights")
    assert binds == ["Compute, O/R"] and values["Compute, O/R"] == "8.24 s" and values["Memory, D/BW"] == "2.05 s"
    values, binds = terms(convention="ops")
    assert binds == ["Compute, O/R"] and values["Memory, D/BW"] == "2.22 s"


def test_on_the_h100_only_the_launch_mode_changes_the_winner(bench):
    """Memory wins under all three byte conventions: 15.4, 32.2, 63.6 µs. The reveal says so, with these figures."""
    told = bench.slots("act2.reveal", bench.parts["act2_reveal"].text)
    assert (told["data"], told["data_fused"], told["data_ops"], told["launch_each"]) == ("15.4 µs", "32.2 µs", "63.6 µs", "1.74 ms")
    for launch, winner in (("one", "Memory, D/BW"), ("each", "Overhead, L")):
        for convention in ("weights", "fused", "ops"):
            view = bench.turn("act2", device="h100_sxm", convention=convention, launch=launch)
            assert [card["label"] for card in view["cards"] if card["note"] == "bottleneck"] == [winner], (convention, launch)


def test_a_convolution_uses_each_weight_160_times(bench):
    """4.09 GMAC over 25.6 M weights, against 989 TFLOP/s · 2 B / (2 · 3.35 TB/s) = 295; torchvision counts the same multiply-adds."""
    assert pytest.approx(reuse.mean(reuse.uses("resnet50", 1)), rel=0.005) == 4.089e9 / 25.5e6
    first, last = reuse.uses("resnet50", 1)[0], reuse.uses("resnet50", 1)[-1]
    assert (first.uses, first.weights, last.uses, last.weights) == (112 * 112, 64 * 3 * 7 * 7, 1, 2048 * 1000)
    feedback = bench.slots("act2.feedback.memory", bench.reason("act2")["text"])
    assert (feedback["reuse"], feedback["needed"]) == ("160", "295")


# --- Walk a byte


def walk(bench, **dials):
    start = {dial["id"]: dial["value"] for dial in bench.piece("act2.walk.instrument").spec["dials"]}
    return bench.turn("act2.walk", **{**start, "device": "h100_sxm", **dials})


def bars(view):
    return {mark["y"]: mark for mark in view["figures"][0]["marks"] if mark["type"] == "dot"}


def test_a_weight_walks_from_memory_to_a_multiplier(bench):
    """By hand on an H100 in FP16: 989/3.35, 989/7, 989/33.5 and 989/401 multiply-adds for two bytes."""
    view = walk(bench)
    at = {name: mark["x"] for name, mark in bars(view).items()}
    assert list(at) == ["from HBM3", "from L2", "from shared, L1", "from registers", "used so far"]
    assert list(at.values()) == pytest.approx([295.2, 141.3, 29.52, 2.466, 160.3], rel=0.001)
    assert [mark["tags"][0]["text"] for mark in list(bars(view).values())[:-1]] == ["owed", "paid for", "paid for", "paid for"]
    told = bench.slots("act2.walk.slides", view["note"])
    assert (told["most"], told["most_name"], told["least"], told["mean"]) == ("12,544", "conv1", "1", "160")
    assert bench.shows("act2.walk.owes", view["note"]) and "= 295" in bare(view["formula"])


def test_a_decoding_step_uses_a_weight_once_and_a_batch_shares_it(bench):
    view = walk(bench, model="llama3_8b")
    assert bars(view)["used so far"]["x"] == 1 and bench.slots("act2.walk.steps", view["note"])["mean"] == "once"
    assert "continuous batching" in bare(view["note"]) and bench.shows("act2.walk.owes", view["note"])
    assert walk(bench, model="llama3_8b", batch=256)["cards"][0]["value"] == "86.7"  # percent: 256 uses, short of 295 by a little
    assert bench.shows("act2.walk.pays", walk(bench, batch=2)["note"])  # 320 uses


def test_the_walk_says_what_the_iron_law_says(bench):
    """Counting weights alone, a trip that is not paid for is a memory term longer than the compute term."""
    for model in ("resnet50", "mobilenet_v2"):
        for batch in (1, 2, 8):
            cards = {card["label"]: card for card in bench.turn("act2", device="h100_sxm", workload=model, batch=batch)["cards"]}
            seconds = [float(cards[name]["exact"].split()[0].replace(",", "")) for name in ("Compute, O/R", "Memory, D/BW")]
            paid = bench.shows("act2.walk.pays", walk(bench, model=model, batch=batch)["note"])
            assert paid == (seconds[0] >= seconds[1]), (model, batch)


def test_kernel_by_kernel_overhead_takes_over_with_the_measurement(bench):
    view = bench.turn("act2", launch="each")
    told = bench.slots("act2.kernels", view["note"])
    assert (told["kernels"], told["wall"], told["busy"]) == ("344", "9.8 ms", "0.89 ms") and "evidence h200_sxm/models" in told["source"]
    assert [card["label"] for card in view["cards"] if card["note"] == "bottleneck"] == ["Overhead, L"]
    assert "174 × 10 µs" in bare(view["formula"]) and told["launches"] == "174"
    assert bench.lab.readouts["act2"]["bottleneck"] == "overhead"


def test_a_microcontroller_has_no_launches_to_pay_one_by_one(bench):
    view = bench.turn("act2", device="cortex_m7", launch="each", workload="dscnn_kws", dtype="int8")
    assert bench.shows("act2.bare", view["note"]) and not bench.shows("act2.kernels", view["note"])


def test_intensity_levels_off_below_the_ridge(bench):
    """Erratum 29."""
    view = bench.turn("act2", batch=256, convention="fused")
    told = bench.slots("act2.levelling", view["note"])
    assert (told["unfused"], told["fused"], told["format"], told["ridge"]) == ("50.9 FLOP/B", "145 FLOP/B", "FP16", "295 FLOP/B")
    assert bench.shows("act2.below", view["note"]) and not bench.shows("act2.crosses", view["note"])
    curve = next(figure for figure in view["figures"] if figure["id"] == "curve")
    lines = {mark["name"]: mark["points"] for mark in curve["marks"] if mark["type"] == "line"}
    for name, last, doubled in (("fused graph", 144, 1.02), ("every op's tensors", 51, 1.01)):
        points = lines[name]
        assert points[-1][1] == pytest.approx(last, rel=0.01) and points[-1][1] / points[-2][1] < doubled
    assert next(mark for mark in curve["marks"] if mark["type"] == "rule")["y"] == pytest.approx(295.2, abs=0.1)


@pytest.mark.parametrize(("dtype", "needed", "weights"), [("fp32", "10.2 MB", "102 MB"), ("int8", "2.56 MB", "25.6 MB")])
def test_oom_on_the_microcontroller(bench, dtype, needed, weights):
    """Weights may stay in flash. SRAM has to hold the image and, where the first residual is added, three tensors of 56 · 56 · 256."""
    assert 3 * 224 * 224 + 3 * 56 * 56 * 256 == 2_558_976 and pytest.approx(5.21, abs=0.005) == 2_558_976 / (480 * 1024)
    banner = bench.turn("act2", device="cortex_m7", dtype=dtype)["banner"]
    told = bench.slots("act2.oom_sram", banner["text"])
    assert banner["tone"] == "fail" and (told["required"], told["available"], told["weights"]) == (needed, "492 kB", weights)
    assert told["per_format"] == "20.8× in FP32, 5.21× in INT8"
    view = bench.piece("act2.instrument").view
    assert bench.slots("act2.flash", view["note"])["weights"] == weights
    assert bench.slots("act2.kept", view["note"]) == {"capacity": "512 KiB", "reserved": "32 KiB", "available": "492 kB"}
    models = bench.slots("act2.oom_none", banner["text"])
    assert "DS-CNN" in models["fitting"] and "MobileNetV2" in models["failing"] and "DS-CNN" not in models["failing"]
    assert bench.lab.readouts["act2"] == {"bottleneck": "OOM", "constraint_hit": True, "oom_triggered": True}
    fit = next(f for f in bench.piece("act2.instrument").view["figures"] if f["id"] == "fit")
    assert {mark["y"]: mark["colour"] for mark in fit["marks"] if mark["type"] == "dot"} == {
        "weights, in flash": "ridge", "live activations": "fail",
    }  # fmt: skip


def test_what_fits_says_how_much_room_is_left(bench):
    banner = bench.turn("act2", device="cortex_m7", workload="dscnn_kws", dtype="int8")["banner"]
    assert banner["tone"] == "good" and bench.slots("act2.fits_sram", banner["text"])["room"].endswith("kB")
    banner = bench.turn("act2", device="cortex_m7", workload="dscnn_kws", dtype="int8", batch=256)["banner"]
    assert banner["tone"] == "fail" and bench.shows("act2.oom_sram", banner["text"])


def test_a_precision_that_a_device_lacks_is_disabled_with_the_reason(bench):
    view = bench.turn("act2", device="a17_npu")
    options = {o["value"]: o["disabled"] for o in view["dials"]["dtype"]["options"]}
    assert options["fp16"] is None and options["int8"] is None and "has no FP32 unit; it has FP16, INT8" in options["fp32"]
    view = bench.turn("act2", device="cortex_m7", dtype="fp16")
    assert view["error"]["dial"] == "dtype" and view["moved"]["dtype"] == {"asked": "fp16", "value": "fp32"}


def test_the_context_moves_the_device_and_every_figure_of_it(revealed):
    view = revealed.piece("act2.instrument").view
    revealed.send("context", value="orin_nx_16gb")
    moved = revealed.piece("act2.instrument").view
    assert revealed.piece("act2.instrument").state["dials"]["device"] == "orin_nx_16gb"
    # D/BW, O/R, L and the total; the bytes needed are the model's own
    assert [a["value"] == b["value"] for a, b in zip(view["cards"], moved["cards"], strict=True)] == [False, False, False, False, True]
    bars = [m for m in revealed.piece("act1.instrument").view["figures"][0]["marks"] if m.get("emphasis")]
    assert [m["id"] for m in bars] == ["orin_nx_16gb"]
    assert {m.get("role") for m in moved["figures"][0]["marks"]} >= {"truth"}  # the reveal stays in sight


# --- complete


def test_complete_saves_exactly_the_fields(complete):
    design = complete.ledger.design(SLUG)
    dials = design.pop("dials")
    design.pop("goals", None)
    assert set(dials) == {"act1", "act2", "act2.walk"} and dials["act2"]["batch"] == 1  # the next visit begins there
    assert design == {
        "context": "h100_sxm", "act1_prediction": 1e9, "act1_correct": False, "act2_prediction": "memory", "act2_correct": True,
        "act2_bottleneck": "memory", "constraint_hit": False, "oom_triggered": False, "confidences": {"act1": 4, "act2": 2},
    }  # fmt: skip
    assert complete.parts["receipt"] is not None
    hud = bare(complete.parts["hud"].text)
    assert "✓ saved" in hud and "Act I you said" in hud and "missed" not in hud and "Bottleneck memory" in hud and "NVIDIA H100 SXM5" in hud


def test_the_design_is_what_the_controls_say(revealed):
    from ironlaw.labs.lab_01_magnitude.design import readouts

    revealed.reflect("act2", "memory")
    revealed.reload().turn("act2", device="cortex_m7", dtype="int8")
    assert revealed.ledger.design(SLUG) is None  # everything is answered and a dial was turned: nothing is written
    view = revealed.save()
    assert view["saved"] and not view["changed"]
    saved = revealed.ledger.design(SLUG)
    assert saved["act2_bottleneck"] == "OOM" and saved["constraint_hit"] is True and saved["oom_triggered"] is True
    assert readouts(revealed.lab) == [("Bottleneck", "OOM", "fail"), ("Memory", "OOM", "fail")]
    revealed.reload()
    assert revealed.piece("act2.instrument").view["banner"]["tone"] == "fail"  # another browser begins with the saved dials
    revealed.send("context", value="orin_nx_16gb")
    revealed.turn("act2", batch=7)
    assert receipt(revealed.lab, {}).changed and len(revealed.ledger.events(SLUG, "design")) == 1  # looking writes nothing


# --- keys follow the registry


def change(monkeypatch, slug, **figures):
    changed = replace(hardware(slug), **figures)
    monkeypatch.setitem(claims.NAMESPACE, "hardware", lambda name: changed if name == slug else hardware(name))


@pytest.mark.parametrize(
    ("question", "slug", "figures", "right"),
    [
        ("act1", "cortex_m7", {"peaks": {"fp32": 1e11}}, "e4"),
        ("act1", "cortex_m7", {"peaks": {"fp32": 1e6}}, "e9"),
        ("act1_reflection", "a17_npu", {"peaks": {"int8": 1e11}}, "rework"),
        ("act1_reflection", "a17_npu", {"peaks": {"int8": 1e8}}, "own_stack"),
        ("act1_reflection", "a17_npu", {"peaks": {"int8": 1e15}}, "no_change"),
        ("act2", "h100_sxm", {"launch": 30e-6}, "overhead"),
        ("act2", "h100_sxm", {"bandwidth": 1e14, "launch": 1e-6}, "compute"),
        ("act2", "h100_sxm", {"launch": 15e-6}, "equal"),
        ("act2_reflection", "cortex_m7", {"capacity": 1e9}, "speed"),
    ],
)
def test_keys_change_with_the_registry(bench, monkeypatch, question, slug, figures, right):
    assert bench.lab.question(question).right.id != right
    change(monkeypatch, slug, **figures)
    assert bench.lab.question(question).right.id == right


# --- errata of Lab 01 not met above


def test_errata_1_to_3_and_28(bench):
    page = bench.text + bare(str(bench.turn("act2", batch=1)))
    assert "989 TFLOP/s" in page and "295 FLOP/B" in page and "591 FLOP/B" not in page  # 1
    assert "8.27 µs" in page and "4 ns" not in page and "7,500" not in page  # 2: not nanoseconds
    assert "8.24 GFLOP" in page and "8.18 GFLOP" in page and "51.2 MB" in page and "100 MB" not in page  # 3
    assert "163,840" in page  # 28
    assert "Overhead, L" in str(bench.piece("act2.instrument").view["cards"])  # 28: L is one of the three


def test_erratum_5_nine_orders_is_no_gap_here(bench):
    assert not re.search(r"nine orders|one order[^s]", bench.text)


def test_the_bytes_take_the_terms_of_the_dials(revealed):
    view = revealed.piece("act2.instrument").view
    (way,) = view["motions"]
    fetched = next(counter for counter in way["counters"] if counter[0] == "fetched")
    terms = {card["label"].partition(",")[0]: card for card in view["cards"]}
    assert terms["Memory"]["value"] in next(text for _, text in way["events"] if "Everything has arrived" in text)
    assert fetched[1][-1][1] == pytest.approx(51.5e6, rel=1e-2) and way["caption"]
