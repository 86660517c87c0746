"""Lab 07 at the level of what it shows and what the ledger holds. Figures are worked out by hand beside each test."""

import re
from dataclasses import replace

import pytest
from headless import bare, figure

import ironlaw as il
from ironlaw import claims, hardware
from ironlaw.claims import row
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.registry.textbooks import textbook

SLUG = "lab_07_fusion"
SAID = {"act1": "p90", "act1_reflection": "share", "act2": "e4"}
FIELDS = {
    "context", "execution_mode", "fusion_enabled", "arithmetic_intensity_unfused", "arithmetic_intensity_fused",
    "compilation_roi_positive", "breakeven_inferences", "act2_result", "kws_utilization_eager_pct", "kws_utilization_compiled_pct",
    "act1_prediction", "act1_correct", "act2_prediction", "act2_correct", "act2_decision", "constraint_hit", "challenge_passed",
}  # fmt: skip


def fill(page, gain, why):
    """Both blanks of the sentence, answered together."""
    places = [page.lab.question("act2_gain").place(gain), page.lab.question("act2_why").place(why)]
    return page.send("act2_gain", choice=places, answer=page.piece("act2_gain").state["answer"] + 1)


def end(page):
    fill(page, "traffic3", "vanish")
    page.reflect("act2", "nothing")
    page.reload().save()


def shares(view):
    """Of the meter: row -> percent."""
    return {mark["y"]: mark["x"] for mark in figure(view, "meter")["marks"] if mark["type"] == "bar"}


def walls(view):
    """Of the waterfall: row -> {part: seconds}."""
    found: dict[str, dict[str, float]] = {}
    for mark in figure(view, "waterfall")["marks"]:
        if mark["type"] == "bar":
            found.setdefault(mark["y"], {})[mark["name"]] = mark["x1"] - mark["x0"]
    return found


def cards(view):
    return {card["label"]: card for card in view["cards"]}


# --- locked: erratum 33


def test_the_header_has_no_figure_at_all(page):
    text = bare(page.parts["header"].text).replace("Lab 07 · about 40 minutes", "")
    assert "The Kernel Fusion Dividend" in text
    assert not re.search(r"\d+(?! class)", re.sub(r"A100|H100|H200|A17", "", text))


def test_the_message_is_the_leads_own_and_the_premise_says_who_waits(page):
    told = page.slots("act1.message", page.parts["act1_message"].text)
    assert told == {"kernels": "1,000", "each": "5 µs", "launch": "10 µs"}
    assert not re.search(r"\b(3|three|third)\b", bare(page.parts["act1_message"].text))  # "three times slower" is the answer
    spec = page.piece("act1").spec
    assert "waits for each kernel" in bare(spec["premises"]) and [o["label"] for o in spec["options"]] == [
        "Nine tenths", "A half", "A third", "A twentieth",
    ]  # fmt: skip


def test_one_lock_opens_the_calculator_at_once_and_the_explorer_two_places_on(half):
    half.predict("act2", "e5")
    assert half.piece("act2.roi.instrument").view["figures"]
    assert half.reload(onward=False).parts["act2_instrument"] is None
    buttons = [name for name in half.reload().lab.elements if name.endswith(".next")]  # one under each place that no answer ends
    assert buttons == [f"{p.name}.next" for p in half.lab.places[: half.lab.progress.reached] if p.part not in ("lock", "reflect")]
    assert half.reload().piece("act2.instrument").view["figures"]


# --- Act I


def test_commit_is_in_the_ledger_and_the_mark_stands_on_the_meter(page):
    page.predict("act1", "p50", 5)
    said = page.ledger.prediction(SLUG, "act1").payload
    assert said == {"question": "act1", "choice": "p50", "value": 50, "confidence": 5, "correct": False}
    marks = {m["role"]: m for m in figure(page.piece("act1.instrument").view, "meter")["marks"] if m.get("role")}
    assert marks["prediction"]["x"] == 50 and marks["truth"]["x"] == pytest.approx(100 / 3)
    assert marks["prediction"]["distance"] == "16.7 points too high"
    assert next(m for m in figure(page.piece("act1.instrument").view, "meter")["marks"] if m.get("id") == "line")["x"] == 80


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("p90", "too high by 56.7 percentage points"),
        ("p5", "too low by 28.3 percentage points"),
        ("p33", "right to within 0.3 percentage points"),
    ],
)
def test_the_distance_is_in_percentage_points(page, option, told):
    page.predict("act1", option)
    assert told in bare(page.reload().parts["act1_reveal"].text)


def test_errata_6_and_7_both_dispatches_are_drawn_and_one_case_has_one_figure(bench):
    """5 ms of kernels, 10 ms of launches: 15 ms one after the other; queued 1,000 launches and the last kernel, 10.005 ms."""
    view = bench.turn("act1")
    found = walls(view)
    assert found["eager, synchronous"] == {"compute": pytest.approx(5e-3), "dispatch": pytest.approx(10e-3)}
    assert sum(found["eager, queued"].values()) == pytest.approx(10.005e-3)
    assert shares(view) == {"eager, synchronous": pytest.approx(100 / 3), "eager, queued": pytest.approx(100 * 5 / 10.005)}
    assert cards(view)["Utilisation"]["value"] == "33.3"
    assert "< 1%" not in bench.text and "1–5%" not in bench.text


def test_the_waterfall_is_predicts_own_dispatch(bench):
    """With as many launches as the graph has kernels, the bars end where `predict` says the run ends; nobody measured the A100."""
    machine = hardware("a100_80gb_sxm")
    graph = il.workload("resnet50", batch=1, dtype="fp16", classes=2)
    for dispatch in ("synchronous", "queued"):
        p = il.predict(graph, machine, il.Plan(dispatch=dispatch, launch=machine.launch))
        view = bench.turn("act1", model="graph:resnet50", kernels_g_resnet50=round(p.kernels))
        assert p.basis == "transferred" and "other machines" in bare(view["note"])
        assert sum(walls(view)[f"eager, {dispatch}"].values()) == pytest.approx(p.seconds)


def test_errata_8_and_9_half_the_launches_removed_gives_half_and_leaves_the_compute(bench):
    view = bench.turn("act1", mode="compiled")
    assert shares(view)["compiled, synchronous"] == pytest.approx(50)
    assert walls(view)["compiled, synchronous"]["compute"] == walls(view)["eager, synchronous"]["compute"]
    assert shares(bench.turn("act1", removed_kws=75))["compiled, synchronous"] == pytest.approx(200 / 3)
    told = bench.slots("act1.peek", bench.parts["act1_peek"].text)
    assert (told["quarters"], told["quarter_share"], told["compiled"]) == ("66.7%", "75%", "50%")


def test_erratum_10_memory_is_a_dial_from_zero_and_never_compute_over_intensity(bench):
    view = bench.turn("act1")
    assert "memory" not in walls(view)["eager, synchronous"] and "7.7" not in str(shares(view))
    more = bench.turn("act1", memory=5)
    assert walls(more)["eager, synchronous"]["memory"] == pytest.approx(5e-3)
    assert shares(more)["eager, synchronous"] == pytest.approx(25)  # 5 of 5 + 10 + 5


def test_erratum_22_the_three_models_in_one_table(bench):
    """200·50/(200·60) = 83.3%, 20·500/(20·510) = 98.0%; compiled 130 launches and 17."""
    note = bare(bench.turn("act1")["after"])
    assert "Keyword spotter1,0005 µs10 µs33.3%50%" in note
    assert "ResNet-5020050 µs10 µs83.3%88.5%" in note
    assert "GPT-2 layer20500 µs10 µs98%98.3%" in note and "90%" not in note
    assert bench.slots("act1.reveal", bench.parts["act1_reveal"].text)["layer"] == "98%"


def test_erratum_30_the_context_moves_the_launch_and_says_what_it_keeps(bench):
    before = bench.piece("act1.instrument").view
    try:
        bench.lab.current_context = next(c for c in bench.lab.contexts if c.slug == "orin_nx_16gb")
        view = bench.turn("act1")
        assert shares(view)["eager, synchronous"] == pytest.approx(100 / 11)  # 5 of 5 + 50
        told = bench.slots("act1.launch", view["note"])
        assert (told["launch"], told["device"]) == ("50 µs", "the Jetson Orin NX") and bench.shows("act1.kept", view["note"])
        real = bench.turn("act1", model="graph:resnet50")
        assert walls(real)["eager, synchronous"]["memory"] > 10 * 78e-6  # the device's own: 20 times less bandwidth than the A100's
    finally:
        bench.lab.current_context = bench.lab.contexts[0]
    assert shares(bench.turn("act1", model="kws")) == shares(before)
    assert bench.lab.question("act1").right.id == "p33"  # the premise names the A100, so the key holds in every context
    assert bench.slots("act1.reveal", bench.parts["act1_reveal"].text)["edge"] == "9.09%"


def test_the_measured_launch_of_the_h200_is_used(bench):
    try:
        bench.lab.current_context = next(c for c in bench.lab.contexts if c.slug == "h200_sxm")
        told = bench.slots("act1.launch", bench.turn("act1")["note"])
        assert (told["launch"], told["device"]) == ("11 µs", "the NVIDIA H200")
        assert told["source"].startswith("measured on its host, evidence h200_sxm/machine")
        real = bench.turn("act1", model="graph:dscnn_kws")
        assert bench.shows("act1.device_calibrated", real["note"]) and walls(real)["eager, queued"]["kernel floor"] > 50e-6
    finally:
        bench.lab.current_context = bench.lab.contexts[0]


@pytest.mark.parametrize(("model", "kernels", "compiled"), [("dscnn_kws", 47, 19), ("resnet50", 344, 124), ("gpt2", 233, 116)])
def test_real_graphs_have_the_launches_that_were_counted(bench, model, kernels, compiled):
    view = bench.turn("act1", model=f"graph:{model}", mode="compiled")
    assert cards(view)["Launches"] == {"label": "Launches", "value": f"{compiled}", "unit": "", "note": f"{kernels} eager"}
    told = bench.slots("act1.measured", view["note"])
    assert (told["kernels"], told["compiled_kernels"]) == (f"{kernels}", f"{compiled}") and "evidence h200_sxm/models" in told["source"]
    parts = walls(view)["eager, synchronous"]
    assert {"compute", "memory", "dispatch"} <= set(parts)


def test_a_faster_gpu_lowers_utilisation(bench):
    assert shares(bench.turn("act1", speed=2))["eager, synchronous"] == pytest.approx(20)  # 2.5 of 12.5
    assert shares(bench.turn("act1", speed=4, mode="graph"))["graph replay"] == pytest.approx(100 * 1.25 / 1.26)


def test_the_same_work_in_fewer_pieces(bench):
    view = bench.turn("act1", kernels_kws=20)
    assert walls(view)["eager, synchronous"] == {"compute": pytest.approx(5e-3), "dispatch": pytest.approx(0.2e-3)}


def test_a_dial_that_means_nothing_here_is_not_shown(bench):
    def shown(view):
        return {name for name, dial in view["dials"].items() if dial.get("hidden") is False}

    assert shown(bench.turn("act1")) == {"kernels_kws", "memory"}
    assert shown(bench.turn("act1", mode="compiled")) == {"kernels_kws", "removed_kws", "memory"}
    assert shown(bench.turn("act1", mode="graph", model="graph:gpt2")) == {"kernels_g_gpt2", "removed_g_gpt2"}


def test_claim_model_measured_of_act_i(bench):
    text = bare(bench.parts["act1_claims"].text)
    assert re.search(r"5 µs to 20 µs.{0,80}10 µs.{0,80}16\.8 µs.{0,80}Depends", text)  # said, computed, measured
    assert re.search(r"30% to 80%.{0,80}67\.8%.{0,80}64%", text)


# --- Act II, panel A


def test_three_ops_read_and_write_once_when_fused(bench):
    """[1024, 768] in FP16 is 1.57 MB: six of them unfused, two fused."""
    view = bench.turn("act2")
    assert figure(view, "ledger")["note"].startswith("reads 3, writes 3, unfused")
    fused = bench.turn("act2", fusion=True)
    assert figure(fused, "ledger")["note"].startswith("reads 1, writes 1, fused")
    assert cards(view)["Traffic saved"]["note"] == "9.44\u202fMB to 3.15\u202fMB"
    assert cards(fused)["Launches"]["note"] == "3 unfused, 1 fused"
    assert "1–3, one kernelfused11.57 MB11.57 MB" in bare(fused["after"])


def test_erratum_11_three_is_the_bound_whatever_the_dials(bench):
    for dials in ({}, {"rows": 16384, "cols": 8192}, {"rows": 64, "cols": 64}, {"bandwidth": 4.8e12}, {"training": True}):
        value = float(cards(bench.turn("act2", **dials))["Speedup"]["value"])
        assert 1 < value <= 3
    claims_ = bare(bench.parts["act2_claims"].text)
    assert re.search(r"five times faster.{0,200}5×.{0,200}3×.{0,200}1\.08×.{0,200}Does not hold", claims_)
    assert bench.slots("act2.counters", bench.turn("act2")["after"])["measured_gain"] == "1.08"


def test_three_is_the_bound_of_the_model_and_not_of_a_kernel(bench):
    """Our own evidence: eager 573 µs, one kernel 142 µs. Eager LayerNorm reads its input 1.8 times; eager dropout writes a mask too."""
    told = bench.slots("act2.counters", bench.turn("act2")["after"])
    assert (told["own_gain"], told["promised"], told["norm_reads"], told["dropout_writes"]) == ("4.04", "3", "1.8", "1.4")
    times = {mode: row("h200_sxm/kernels", name="layernorm_dropout_relu", shape=[16384, 8192], mode=mode) for mode in ("eager", "triton")}
    assert times["eager"].value("busy_s") / times["triton"].value("busy_s") == pytest.approx(573.4 / 141.8, rel=0.001)
    said = bench.slots("act2.terms", bench.turn("act2")["note"])
    assert said == {"fewer": "3", "cut": "3"}


@pytest.mark.parametrize("chain", [["relu", "sum"], ["add", "relu"], ["gelu", "mul", "sum"], ["layer_norm", "dropout", "relu"]])
@pytest.mark.parametrize("size", [{"rows": 64, "cols": 64}, {"rows": 16384, "cols": 8192}])
def test_a_gain_lies_between_the_launches_and_the_bytes(bench, chain, size):
    """Not under the number of ops: ReLU and a sum are two, and one pass over them moves a third."""
    view = bench.turn("act2", chain=chain, **size)
    said = {name: float(value) for name, value in bench.slots("act2.terms", view["note"]).items()}
    assert min(said.values()) - 0.01 <= float(cards(view)["Speedup"]["value"]) <= max(said.values()) + 0.01
    assert (said["fewer"], said["cut"]) == (2, 3) or chain != ["relu", "sum"]


def test_the_counters_are_explained_from_the_byte_counts(bench):
    told = bench.slots("act2.counters", bench.turn("act2")["after"])
    assert (told["eager_bytes"], told["compiled_bytes"], told["norm_reads"], told["fused_writes"]) == (
        "1.89 GB",
        "1.05 GB",
        "1.8",
        "2.9",
    )
    assert (told["eager_busy"], told["compiled_busy"], told["kernels"]) == ("573 µs", "532 µs", "2")


def test_erratum_12_intensity_rises_as_traffic_falls(bench):
    assert cards(bench.turn("act2"))["Intensity, FLOP/B"]["value"] == "0.833"
    fused = cards(bench.turn("act2", fusion=True))["Intensity, FLOP/B"]
    assert fused["value"] == "2.5" and "15.6× below the ridge of 39" in bare(fused["note"])
    assert bench.lab.readouts["act2"] == {"fusion_enabled": True, "arithmetic_intensity_unfused": 0.8333, "arithmetic_intensity_fused": 2.5}


def test_erratum_31_fused_is_still_memory_bound_and_the_units_are_tera(bench):
    assert "memory-bound" in bench.lab.words.sections["act2_why.feedback.ridge"]
    options = next(d for d in bench.piece("act2.instrument").spec["dials"] if d["id"] == "bandwidth")["options"]
    assert [o["label"] for o in options] == ["device's", "1 TB/s", "2 TB/s", "3.35 TB/s", "4.8 TB/s"]
    assert "2 GB/s" not in bench.text
    told = bench.slots("act2.reveal", bench.parts["act2_reveal"].text)
    assert (told["web_days"], told["web_seconds"]) == ("13.4", "6.9 s")  # 10,000 a day; errata 30 and 31


def test_a_mask_is_a_row_of_its_own(bench):
    view = bench.turn("act2", training=True)
    rows = {m["y"] for m in figure(view, "ledger")["marks"]}
    assert "2 dropout's mask" in rows
    mask = next(m for m in figure(view, "ledger")["marks"] if m["id"] == "2 dropout's mask-written")
    assert (mask["x0"], mask["x1"]) == (0, 1024 * 768)
    assert float(cards(view)["Traffic saved"]["value"]) < 3


def test_a_composed_chain_is_planned_with_reasons(bench):
    view = bench.turn("act2", chain=["matmul", "relu", "sum", "softmax"], fusion=True)
    note = bare(view["after"])
    assert "1 matmul → 2 ReLUfusesepilogue" in note and "3 sum → 4 softmaxstays apartbarriersum over the whole tensor must finish" in note
    assert cards(view)["Launches"]["note"] == "4 unfused, 3 fused"
    four = bench.turn("act2", chain=["relu"] * 4, fusion=True)
    assert cards(four)["Traffic saved"]["value"] == "4" and cards(four)["Speedup"]["value"] == "4"


def test_a_chain_that_can_not_be_is_refused_with_the_reason(bench):
    view = bench.turn("act2", chain=["relu", "conv2d"])
    assert view["error"]["dial"] == "chain" and "takes 1 to 8 of add" in view["error"]["message"]
    assert bench.lab.instruments["act2"].values["chain"] == ["layer_norm", "dropout", "relu"]


def test_the_l2_crossover_is_visible(bench):
    """40 MiB hold two tensors of 20 MiB: below that, main memory sees the same bytes fused or not."""
    view = bench.turn("act2")
    sizes = figure(view, "sizes")
    assert next(m for m in sizes["marks"] if m["id"] == "crossover")["x"] == 20 * 2**20
    cut = dict(next(m for m in sizes["marks"] if m["id"] == "line-DRAM bytes, with the L2")["points"])
    assert {round(v, 6) for size, v in cut.items() if size < 20 * 2**20} == {1.0}
    assert {round(v, 6) for size, v in cut.items() if size > 20 * 2**20} == {3.0}
    assert bench.slots("act2.inside", view["note"])["cache"] == "41.9 MB"
    large = bench.turn("act2", rows=16384, cols=8192)
    assert bench.slots("act2.outside", large["note"])["dram"] == "3"
    measured = [m for m in sizes["marks"] if m["type"] == "point" and "measured" in m.get("name", "")]
    assert len(measured) == 5
    assert not [m for m in figure(bench.turn("act2", chain=["relu", "relu"]), "sizes")["marks"] if "measured" in m.get("name", "")]


def test_erratum_32_flash_attention_is_no_constant(complete):
    """S/d + 1: 9 at 1,024, 17 at 2,048, 129 at 16,384 with heads of 128."""
    for seq, cut in ((1024, "9×"), (2048, "17×"), (16384, "129×")):
        view = complete.turn("act2.attention", seq=seq)
        assert figure(view, "attention-bytes")["note"] == f"{cut} less at {seq:,}"
    assert "not measured at 16,384" in figure(view, "attention-times")["note"]
    assert "at 16,384;" in figure(view, "attention-bytes")["text"] and "16.4\u202fk" not in figure(view, "attention-bytes")["text"]
    assert figure(complete.turn("act2.attention", seq=2048, head=64), "attention-bytes")["note"] == "33× less at 2,048"
    told = complete.slots("act2.flash", complete.turn("act2.attention", head=128)["after"])
    assert (told["low"], told["high"]) == ("2.69", "6.9")
    # the premise: 2,048 tokens of a head's keys and values, 2 · 2048 · 128 · 2 bytes, stay in 40 MiB; measured 9 where S/d + 1 is 17
    assert (told["kv"], told["l2"]) == ("1.05 MB", "(41.9 MB)") and (told["paper"], told["formula"]) == ("9.2", "17")


# --- Act II, panel B


def test_the_second_key_by_hand(bench):
    """30 s over (1/1450 − 1/2150) s: 133,607.14."""
    assert bench.lab.question("act2").answer == pytest.approx(133_607.142857)
    text = bare(bench.parts["act2_reveal"].text)
    told = bench.slots("act2.reveal", bench.parts["act2_reveal"].text)
    assert (told["each"], told["saved"], told["calls"]) == ("690 µs", "224.5 µs", "133,608")
    assert "too low by a factor of 13.4, or 1.1 orders of magnitude" in text
    marks = {m["role"]: m for m in figure(bench.turn("act2.roi"), "counts")["marks"] if m.get("role")}
    assert {role: m["x"] for role, m in marks.items()} == {"prediction": 1e4, "truth": 133_608}
    assert bare(marks["truth"]["label"]) == "as asked, it is 133,608 calls"  # beside the bar, which is at the dial's round gain


def test_erratum_13_each_model_has_its_own_rate_and_the_gain_counts(bench):
    """KWS, 15 ms a pass: 10 s at 40% is 10 / (15 ms · 0.4/1.4) = 2,333.3."""
    spotter = bench.turn("act2.roi", model="kws", compile=10, gain=40, volume=2400)
    assert cards(spotter)["Break-even, calls"]["value"] == "2,334"
    assert bench.lab.readouts["act2.roi"]["breakeven_inferences"] == 2334
    more = bench.turn("act2.roi", model="kws", compile=10, gain=80, volume=2400)
    assert cards(more)["Break-even, calls"]["value"] == "1,500" and bench.lab.readouts["act2.roi"]["act2_result"] == pytest.approx(1500)
    resnet = bench.turn("act2.roi", model="resnet50", compile=10, gain=40)
    assert cards(resnet)["Break-even, calls"]["value"] == "50,750"


def test_the_curve_begins_at_minus_the_cost_and_crosses_where_it_is_earned_back(bench):
    view = bench.turn("act2.roi", volume=10_000)
    curve = figure(view, "saving")
    assert bare(view["formula"]).replace("\u202f", " ").endswith("= 133,607.14, so call 133,608")
    soon = next(m for m in figure(bench.turn("act2.roi", volume=10_000_000), "saving")["marks"] if m["id"] == "cross")
    assert soon["label"] == "after 19.2\u202fmin, call 133,608"  # and not "day 0.0134"
    line = next(m for m in curve["marks"] if m["id"] == "net")["points"]
    assert line[0] == [0.0, -30.0] and line[-1][0] == 30
    cross = next(m for m in curve["marks"] if m["id"] == "cross")
    assert cross["x"] == pytest.approx(13.360714) and cross["label"] == "day 13.4, call 133,608" and cross["colour"] == "good"
    assert view["banner"]["tone"] == "warn" and "16.6 d" in bare(view["banner"]["text"]).replace("\u202f", " ")
    assert {m["id"]: m["colour"] for m in curve["marks"] if m["type"] == "area"} == {"cost": "fail", "gain": "good"}


def test_not_justified_says_what_is_short_and_what_to_change(bench):
    view = bench.turn("act2.roi", volume=10_000, span="7")
    assert view["banner"]["tone"] == "fail" and view["banner"]["title"] == "Compiling does not pay"
    told = bench.slots("act2.fails", view["banner"]["text"])
    assert (told["calls"], told["day"], told["served"], told["days"]) == ("133,608", "13.4 days", "70,000", "7 days")
    assert bench.lab.readouts["act2.roi"]["constraint_hit"] is True
    stay = bench.turn("act2.roi", volume=10_000, span="7", decision="eager")
    assert stay["banner"]["tone"] == "warn" and bench.shows("act2.stays", stay["banner"]["text"])  # right, and not what the task asks
    assert bench.lab.readouts["act2.roi"]["constraint_hit"] is False
    once = bench.turn("act2.roi", volume=10_000, span="run", decision="compile")
    assert (
        once["banner"]["tone"] == "fail"
        and bench.shows("act2.fails_once", once["banner"]["text"])
        and cards(once)["Served, calls"]["value"] == "1"
    )
    assert "the deployment serves 1 call." in bare(figure(once, "counts")["text"])
    year = bench.turn("act2.roi", volume=10_000, span="365", decision="eager")
    assert year["banner"]["tone"] == "warn" and bench.shows("act2.forgone", year["banner"]["text"])


def test_more_than_one_device_can_serve(bench):
    """15 ms a pass is 5.76 million a day; 100 million take 18 devices, and each compiles: 18 · 30 s."""
    view = bench.turn("act2.roi", model="kws", volume=1e8)
    told = bench.slots("act2.devices", view["banner"]["text"])
    assert (told["devices"], told["one"], told["cost"]) == ("18", "5,760,000", "9 min")
    assert cards(view)["Devices"]["value"] == "18"
    start = next(m for m in figure(view, "saving")["marks"] if m["id"] == "net")["points"][0]
    assert start == [0.0, -540.0]


def test_sensitivity_holds_what_the_dials_hold(bench):
    """The gain stays when the rate changes. By hand from three break-evens: t R (1 + g) / g."""
    told = bench.slots("act2.sensitivity", bench.turn("act2.roi")["note"])
    calls = {gain: 30 * 1450 * (1 + gain) / gain for gain in (0.48, 0.48 * 1.001)}
    change = 1000 * (1 - calls[0.48 * 1.001] / calls[0.48])
    assert float(told["by"]) == pytest.approx(change, rel=2e-3) == pytest.approx(0.676, rel=2e-3)


def test_the_round_gain_of_the_dial_is_told_from_the_question_s_rates(bench):
    told = bench.slots("act2.rounded", bench.turn("act2.roi", volume=10_000, gain=48)["note"])
    assert (told["calls"], told["here"]) == ("133,608", "134,125") and told["gain"] == "48.28%"
    assert not bench.shows("act2.rounded", bench.turn("act2.roi", gain=50)["note"])


def test_where_a_context_starts(revealed):
    def stand():
        dials = revealed.piece("act2.roi.instrument").state["dials"]
        return dials["volume"], dials["span"]

    assert stand() == (10_000, "30")  # the question's own case
    revealed.turn("act2.roi", gain=20)
    revealed.send("context", value="orin_nx_16gb")
    assert stand() == (2400, "1") and revealed.piece("act2.roi.instrument").state["dials"]["gain"] == 20  # 100 an hour, not a day


def test_presets_are_offered(bench):
    dials = {d["id"]: d for d in bench.piece("act2.roi.instrument").spec["dials"]}
    assert dials["compile"]["presets"] == [10, 48, 120, 300] and dials["volume"]["presets"] == [1e3, 1e4, 1e6, 1e8]
    assert (dials["volume"]["min"], dials["volume"]["max"]) == (100, 1e8) and (dials["compile"]["min"], dials["compile"]["max"]) == (5, 300)


# --- the challenge and the sentence


def test_the_challenge_is_entered_first_and_judged_within_a_tenth(complete):
    assert "2,334" not in str(complete.piece("act2_challenge").view) + str(complete.piece("act2_challenge").spec)
    view = complete.send("act2_challenge", value=22, commit=1)
    assert view["right"] is True and complete.shows("act2_challenge.right", view["feedback"])
    told = complete.slots("act2_challenge.feedback", view["feedback"])
    assert (told["calls"], told["hours"]) == ("2,334", "23.3")
    assert (told["edge_calls"], told["edge_hours"], told["queued_calls"], told["queued_hours"]) == ("637", "6.4", "3,499", "35.0")
    again = complete.send("act2_challenge", value=5, commit=2)
    assert again["committed"]["value"] == 22 and len(complete.ledger.events(SLUG, "challenge")) == 1
    assert complete.reload().piece("act2_challenge").view["committed"]["value"] == 22


def test_what_fusing_gains_by_the_clock_is_guessed_before_it_is_shown(revealed):
    asked = str(revealed.piece("act2_fusing_challenge").spec)
    assert "268" in asked and "1.08" not in asked  # 2 bytes × 16,384 × 8,192
    view = revealed.send("act2_fusing_challenge", value=3, commit=1)
    told = revealed.slots("act2_fusing_challenge.feedback", view["feedback"])
    assert view["right"] is False and (told["value"], told["measured_gain"], told["own_gain"]) == ("3", "1.08", "4.04")
    assert revealed.lab.question("act2_fusing_challenge").near(1.1) and revealed.lab.entry("act2_challenge") is None


@pytest.mark.parametrize(("value", "right"), [(20.9, False), (21.1, True), (25.6, True), (25.8, False), (23.3 * 24, False)])
def test_how_near_the_challenge_wants_it(complete, value, right):
    assert complete.send("act2_challenge", value=value, commit=1)["right"] is right


def test_the_sentence_with_two_blanks(revealed):
    view = fill(revealed, "wall5", "ridge")
    gain = revealed.slots("act2_gain.feedback.wall5", view["answered"]["feedback"])
    why = revealed.slots("act2_why.feedback.ridge", view["answered"]["feedback"])
    assert view["answered"]["right"] is False and (gain["bound"], why["ridge"]) == (
        "3×",
        "39 FLOP/B",
    )  # 78 TFLOP/s over the panel's 2 TB/s
    assert (gain["measured"], gain["own"]) == ("1.08", "4.04")
    assert fill(revealed, "traffic3", "vanish")["answered"]["right"] is True
    beliefs = [event.payload["misconception"] for event in revealed.ledger.answers(SLUG, "act2_why")]
    assert beliefs == ["fusion_makes_compute_bound", None]
    assert revealed.reload().piece("act2_gain").view["answered"]["choice"] == [1, 0]


def test_the_last_reflection_says_how_little(revealed):
    view = revealed.reflect("act2", "nothing")
    told = revealed.slots("act2_reflection.feedback.nothing", view["answered"]["feedback"])
    assert told == {"launch": "10 µs", "kernel": "200 ms", "share": "0.005%"}
    told = revealed.slots("act2_reflection.feedback.resnet", revealed.reflect("act2", "resnet")["answered"]["feedback"])
    assert told == {"resnet_gain": "48%", "resnet_kernels": "200"}


# --- complete


def test_complete_saves_exactly_the_fields(complete):
    design = complete.ledger.design(SLUG)
    assert set(design) == {*FIELDS, "dials", "goals"} and set(design.pop("dials")) == {"act1", "act2", "act2.attention", "act2.roi"}
    design.pop("goals", None)
    assert design == {
        "context": "a100_80gb_sxm", "execution_mode": "eager", "kws_utilization_eager_pct": 33.33, "kws_utilization_compiled_pct": 50.0,
        "fusion_enabled": False, "arithmetic_intensity_unfused": 0.8333, "arithmetic_intensity_fused": 2.5,
        "compilation_roi_positive": True, "breakeven_inferences": 133608, "act2_result": pytest.approx(133607.142857),
        "act2_decision": "compile",
        "constraint_hit": False, "act1_prediction": 90, "act1_correct": False, "act2_prediction": 1e4, "act2_correct": False,
        "challenge_passed": None,
    }  # fmt: skip
    hud = bare(complete.parts["hud"].text)
    assert "✓ saved" in hud and "Spotter, compiled 33 → 50%" in hud and "Fusion off" in hud and "ROI ✓ positive" in hud and "133,608" in hud
    assert complete.parts["receipt"] is not None


def test_what_is_beyond_the_core_waits_for_the_receipt(revealed):
    assert [name for name in ("act2_challenge", "act2_attention", "further", "lessons") if revealed.parts[name] is not None] == []


def test_what_is_beyond_the_core_follows_the_receipt_and_need_not_be_done(complete):
    cells = [name for name, part in complete.parts.items() if part is not None]
    assert cells[-6:] == ["receipt", "further", "act2_challenge", "act2_attention", "lessons", "hud"]
    assert complete.lab.entry("act2_challenge") is None and complete.piece("save").view["saved"]
    assert "takeaways" not in complete.parts["receipt"] and 'id="takeaways"' in complete.parts["lessons"]
    assert "il-beyond" in complete.parts["act2_attention"] and 'data-place="further"' in complete.parts["rail"]


def test_the_sentence_alone_does_not_complete_the_lab(revealed):
    revealed.reflect("act2", "nothing")
    revealed.reload()
    assert revealed.ledger.design(SLUG) is None and revealed.parts["receipt"] is None


def test_the_design_is_what_the_controls_say(revealed):
    from ironlaw.labs.lab_07_fusion.design import readouts

    fill(revealed, "traffic10", "python")
    revealed.reflect("act2", "double")
    revealed.reload().send("act2_challenge", value=23, commit=1)
    revealed.turn("act1", mode="compiled", removed_kws=75, dispatch="synchronous")
    revealed.turn("act2", fusion=True, chain=["relu", "relu"])
    revealed.turn("act2.roi", volume=1000, span="7", gain=20)
    revealed.save()
    saved = revealed.ledger.design(SLUG)
    assert saved["execution_mode"] == "compiled" and saved["kws_utilization_compiled_pct"] == 66.67
    assert saved["fusion_enabled"] is True and (saved["arithmetic_intensity_unfused"], saved["arithmetic_intensity_fused"]) == (0.25, 0.5)
    assert saved["compilation_roi_positive"] is False and saved["constraint_hit"] is True and saved["challenge_passed"] is True
    assert saved["breakeven_inferences"] == 261_000  # 30 s over (1 − 1/1.2)/1450
    assert ("ROI", "negative, not justified", "fail") in readouts(revealed.lab) and ("Fusion", "on", "") in readouts(revealed.lab)
    revealed.reload()
    assert revealed.piece("act2.instrument").state["dials"]["chain"] == ["relu", "relu"]  # the saved dials, also in another browser
    assert revealed.lab.readouts["act2.roi"]["breakeven_inferences"] == 261_000 and len(revealed.ledger.events(SLUG, "design")) == 1


# --- keys follow the registry


def change(monkeypatch, slug, **figures):
    changed = replace(hardware(slug), **figures)
    monkeypatch.setitem(claims.NAMESPACE, "hardware", lambda name: changed if name == slug else hardware(name))


@pytest.mark.parametrize(
    ("question", "figures", "right"),
    [
        ("act1", {"launch": 5e-6}, "p50"),
        ("act1", {"launch": 0.4e-6}, "p90"),
        ("act1", {"launch": 100e-6}, "p5"),
        ("act1_reflection", {"launch": 1e-9}, "warmup"),
        ("act2_why", {"bandwidth": 1e15}, "ridge"),
        ("act2_reflection", {"launch": 0.1}, "resnet"),
        ("act2_reflection", {"launch": 0.4}, "double"),
    ],
)
def test_keys_change_with_the_machine(bench, monkeypatch, question, figures, right):
    assert bench.lab.question(question).right.id != right
    change(monkeypatch, "a100_80gb_sxm", **figures)
    assert bench.lab.question(question).right.id == right


@pytest.mark.parametrize(
    ("question", "slug", "figures", "right"),
    [
        ("act1", "kws", {"kernel_s": 10e-6}, "p50"),
        ("act2", "resnet50", {"compile_s": 0.3}, "e3"),
        ("act2", "resnet50", {"compile_s": 3000.0}, "e7"),
        ("act2", "resnet50", {"compiled_rate": 14500.0, "compile_s": 6.0}, "e4"),
    ],
)
def test_keys_change_with_the_textbook(bench, monkeypatch, question, slug, figures, right):
    assert bench.lab.question(question).right.id != right
    changed = replace(textbook(slug), **figures)
    monkeypatch.setitem(claims.NAMESPACE, "textbook", lambda name: changed if name == slug else textbook(name))
    assert bench.lab.question(question).right.id == right


def test_the_challenges_key_follows_the_launch(bench, monkeypatch):
    assert bench.lab.question("act2_challenge").answer == pytest.approx(23.34)
    change(monkeypatch, "a100_80gb_sxm", launch=50e-6)
    assert bench.lab.question("act2_challenge").answer == pytest.approx(6.37)


def test_the_lab_and_the_keys_take_the_same_premises():
    """The key is one line over the registry, the screens come from the jobs: both must be the same pass."""
    assert jobs.pass_s(textbook("kws"), hardware("a100_80gb_sxm").launch) == pytest.approx(15e-3)
    assert jobs.premise(hardware("a100_80gb_sxm"), textbook("kws")) == pytest.approx(100 / 3)


# --- as it happens


def test_the_lanes_show_what_the_cards_say(page):
    """Twenty kernels are drawn whole: the eager lane ends at the wall time, and its kernels are as long as the device is busy."""
    page.predict("act1", "p90", estimate=None)
    set_dials = {**page.piece("act1.instrument").state["dials"], "kernels_kws": 20, "dispatch": "synchronous", "mode": "eager"}
    view = page.send("act1.instrument", dials=set_dials)
    (film,) = view["motions"]
    wall = cards(view)["Wall time"]
    assert film["end"] == pytest.approx(sum(walls(view)["eager, synchronous"].values()), rel=1e-5)
    device = min(bar[2] for bar in film["bars"] if bar[4] == "compute")
    assert sum(bar[1] - bar[0] for bar in film["bars"] if bar[2] == device) == pytest.approx(textbook("kws").compute_s, rel=1e-5)
    assert len([bar for bar in film["bars"] if bar[2] == device]) == 20 and wall["value"] in film["title"]
    assert "gaps in the device" in film["caption"]
