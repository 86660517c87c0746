"""Lab 08 at the level of what it shows and what the ledger holds. Figures are worked out by hand, or by the engine apart from the lab."""

import re
from itertools import product

import pytest
from headless import bare, figure

from ironlaw import hardware
from ironlaw.engine.training.training_ledger import training_ledger
from ironlaw.labs.lab_08_ledger import step
from ironlaw.labs.lab_08_ledger.act1.instrument import PREMISE
from ironlaw.labs.lab_08_ledger.act2 import banners, instrument, slots
from ironlaw.labs.lab_08_ledger.act2.instrument import CHANGES, START
from ironlaw.registry.families import FAMILIES
from ironlaw.registry.workloads import about, workload
from ironlaw.systems.limits import hit

SLUG = "lab_08_ledger"
SAID = {"act1": "x4", "act1_reflection": "unchanged", "act2": "adam8bit", "act2_reflection": "none"}
FIELDS = {
    "context", "model", "recipe", "optimiser", "micro_batch", "checkpoint", "peak_bytes", "static_bytes", "headroom_bytes",
    "constraint_hit", "act1_prediction", "act1_correct", "act2_prediction", "act2_correct",
}  # fmt: skip
USABLE = float(hardware("rtx_4090").usable)


def cards(view):
    return {card["label"]: card for card in view["cards"]}


# --- locked


def test_the_header_has_no_figure_at_all(page):
    text = bare(page.parts["header"].text).replace("Lab 08 · about 35 minutes", "")
    assert not re.search(r"\d", re.sub(r"RTX 4090|A100|H200|FP32|BF16", "", text))


def test_the_message_has_the_researchers_own_figures(page):
    told = page.slots("act1.message", page.parts["act1_message"].text)
    assert told == {"size": "498 MB"}  # 124,439,808 × 4 bytes


# --- keys


def test_the_keys_are_what_the_engine_says(half):
    assert half.lab.question("act1").right.id == "x30"
    assert float(half.lab.question("act1").answer) == pytest.approx(30.03, abs=0.01)
    assert half.lab.question("act1_reflection").right.id == "unchanged"
    assert half.lab.question("act2").right.id == "checkpoint"
    assert half.lab.question("act2_reflection").right.id == "none"


def test_act_i_s_key_moves_with_the_vocabulary():
    """With a vocabulary of ten million words the multiple is another option's."""
    params = about("gpt2")["params"]
    multiples = []
    for vocab in (1_000, 50_257, 10_000_000):
        graph = FAMILIES["gpt2"](**{**params, "vocab": vocab}, batch=8, seq=1024, dtype="fp32")
        multiples.append(training_ledger(graph).peak / (4 * 124_439_808))
    assert multiples == sorted(multiples) and multiples[0] < 22 and multiples[2] > 120


def test_act_ii_s_key_leads_by_a_margin_and_moves_with_the_micro_batch():
    freed = sorted((slots.freed(name) for name in CHANGES), reverse=True)
    assert freed[0] == slots.freed("checkpoint") and freed[0] > 1.15 * freed[1]
    one = START.with_(batch=1)
    assert one.peak - one.with_(optimiser="adam8bit").peak > one.peak - one.with_(checkpoint=16).peak


def test_the_start_is_the_key_s():
    assert START.peak == training_ledger(workload("llama3_2_1b", batch=4, seq=2048, dtype="bf16"), "mixed", accumulate=16).peak
    assert PREMISE.peak == training_ledger(workload("gpt2", batch=8, seq=1024, dtype="fp32")).peak


def test_the_reflection_s_key_moves_with_the_recipe():
    from ironlaw.engine.training.training_ledger import static_bytes

    graph = workload("gpt2")
    assert static_bytes(graph, "fp32") / static_bytes(graph, "mixed") == 1
    assert static_bytes(graph, "fp32") / static_bytes(graph, "pure") == 2


# --- Act I's instrument


def test_the_mountain_is_the_ledger(bench):
    view = bench.turn("act1", batch=8)
    assert next(m for m in figure(view, "mountain")["marks"] if m.get("id") == "peak")["y"] == PREMISE.peak
    assert cards(view)["Peak ÷ weights"]["value"] == "30"
    assert (cards(view)["Peak"]["value"], cards(view)["Peak"]["unit"]) == ("14.9", "GB")
    assert next(m for m in figure(view, "mountain")["marks"] if m.get("id") == "limit")["y"] == USABLE
    rules = {m["role"]: m for m in figure(view, "mountain")["marks"] if m.get("role")}
    assert rules["truth"]["y"] / (4 * 124_439_808) == pytest.approx(30.03, abs=0.01)


START_DIALS = {"model": "gpt2", "batch": 8, "recipe": "fp32", "optimiser": "adamw", "attention": "fused", "chunks": 1, "seq_1024": 1024}


@pytest.mark.parametrize("model", step.MODELS)
def test_every_model_has_a_mountain(bench, model):
    view = bench.turn("act1", model=model, batch=1)
    assert not view.get("error") and figure(view, "mountain")["table"]["rows"] and figure(view, "rows")
    hidden = {name: dial["hidden"] for name, dial in view["dials"].items() if "hidden" in dial}
    assert ("striped green" in view["note"]) == step.has_head(model)
    assert hidden["chunks"] != step.has_head(model) and hidden["attention"] != step.has_attention(model)
    assert sum(not hidden[f"seq_{most}"] for most in step.LONGEST) == bool(step.MODELS[model])
    bench.turn("act1", **START_DIALS)


def test_your_multiple_is_a_rule_across_the_mountain(bench):
    marks = figure(bench.turn("act1", **START_DIALS), "mountain")["marks"]
    assert next(m for m in marks if m.get("role") == "prediction")["y"] == 4 * 4 * 124_439_808


# --- Act II


def test_a_sweep_of_the_dials_agrees_with_the_ledger():
    """The triggers, read off a ledger built apart from the lab's caches."""
    seen = set()
    for batch, recompute, chunks, optimiser, recipe in product((1, 8), (0, 16), (1, 16), ("adamw", "adam8bit"), ("mixed", "pure")):
        case = START.with_(batch=batch, checkpoint=recompute, loss_chunks=chunks, optimiser=optimiser, recipe=recipe)
        graph = workload(case.model, batch=batch, seq=case.seq, dtype="bf16")
        ledger = training_ledger(graph, recipe, optimiser, checkpoint=recompute, loss_chunks=chunks, accumulate=16)
        limit = hit(banners.LIMITS, banners.Fit(case, USABLE))
        state = limit.name
        seen.add(state)
        assert case.peak == pytest.approx(ledger.peak)
        assert (limit.tone == "fail") == (ledger.peak > USABLE)
        if state == "static":
            assert ledger.profile[-1].total > USABLE
        if state == "head":
            assert ledger.peak - ledger.at_peak("head") <= USABLE
        if state == "idle":
            assert recompute and case.with_(checkpoint=0).peak <= 0.95 * USABLE
        if state == "works":
            assert case.largest(USABLE) >= batch
    assert seen >= {"kept", "head", "works", "vanish"}


def test_the_levers_free_what_they_say(bench):
    view = bench.turn("act2", recompute="none", chunks=1, batch=4, model="llama3_2_1b", recipe="mixed", optimiser="adamw")
    bars = {m["y"]: m["x1"] for m in figure(view, "levers")["marks"] if m["type"] == "bar"}
    assert bars["as set"] == pytest.approx(START.peak) and bars["recompute every layer"] == pytest.approx(START.with_(checkpoint=16).peak)
    assert bars["half the microbatch"] == pytest.approx(START.with_(batch=2, accumulate=32).peak)


def test_the_prediction_is_marked_among_the_four(bench):
    start = bench.start("act2")
    drawn = figure(bench.turn("act2", **start), "levers")
    bars = {m["y"]: m["x1"] for m in drawn["marks"] if m["type"] == "bar"}
    rows = {m["role"]: m["y"] for m in drawn["marks"] if m.get("role")}
    assert bars["as set"] - bars[rows["prediction"]] == pytest.approx(slots.freed("adam8bit"))
    assert rows["truth"] == min(bars, key=bars.get) == "recompute every layer"


def test_every_lever_changes_something(bench):
    base = bench.start("act2")
    for dials in ({"offload": True}, {"zero": 3}, {"zero": 1, "devices": 64}, {"recompute": "some"}, {"recompute": "some", "segments": 8},
                  {"attention": "three_kernels"}, {"batch": 2}, {"chunks": 2}, {"optimiser": "adafactor"}, {"seq_8192": 1024}):  # fmt: skip
        before, after = (cards(bench.turn("act2", **{**base, **more})) for more in ({}, dials))
        assert after["Peak"]["exact"] != before["Peak"]["exact"], dials
    away = cards(bench.turn("act2", **{**base, "offload": True}))["To the host and back"]
    assert float(away["exact"].split("\u202f")[0]) == pytest.approx(2 * 2 * 1_235_814_400 / 31.5e9, rel=1e-3)
    bench.turn("act2", **base)


def test_titles_say_what_is_found(bench):
    first = bench.turn("act1", **START_DIALS)
    assert figure(first, "mountain")["title"] == "At the peak, 57% is saved by the layers"
    assert figure(first, "rows")["title"].startswith("The peak fits ")
    base = bench.start("act2")
    start = bench.turn("act2", **base)
    assert figure(start, "rows")["title"].startswith("The peak is too big for ")
    assert figure(start, "levers")["title"] == "The best single change: recompute every layer"


def test_one_micro_batch_is_said_as_one(bench):
    base = bench.start("act2")
    assert cards(bench.turn("act2", **base))["Largest microbatch"]["note"] == "16 microbatches per update"
    assert cards(bench.turn("act2", **{**base, "batch": 64}))["Largest microbatch"]["note"] == "1 microbatch per update"
    bench.turn("act2", **base)


def test_a_device_without_a_link_to_its_host_has_no_rate_of_it(bench, monkeypatch):
    assert "31.5" in bare(instrument.note(bench.lab))
    monkeypatch.setattr(instrument, "host_link", lambda lab: 0.0)
    assert "link" not in instrument.note(bench.lab)


# --- the ledger


def test_a_saved_design_has_its_fields(complete):
    design = complete.ledger.design(SLUG)
    assert set(design) - {"dials", "goals"} == FIELDS
    assert (design["model"], design["micro_batch"], design["recipe"], design["constraint_hit"]) == ("llama3_2_1b", 4, "mixed", True)
    assert design["peak_bytes"] == round(START.peak) and design["headroom_bytes"] == round(USABLE - START.peak)
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (4, False, False)


def test_another_context_moves_the_limit_and_not_the_question(bench):
    lab = bench.lab
    start = bench.start("act2")
    try:
        lab.current_context = next(c for c in lab.contexts if c.slug == "h200_sxm")
        view = bench.turn("act2", **start)
        assert view["banner"]["title"] == "It fits" and lab.question("act2").right.id == "checkpoint"
        limit = next(m for m in figure(view, "mountain")["marks"] if m.get("id") == "limit")
        assert limit["y"] == hardware("h200_sxm").usable
    finally:
        lab.current_context = lab.contexts[0]
        bench.turn("act2", **start)


COUNTS = [
    {"kind": "figure", "name": name, "label": name, "value": value, "low": value, "high": value, "unit": "B", "samples": 1,
     "params": {"expected": 1000.0, "batch": 32, **more}}
    for name, value, more in (("kept", 1010.0, {}), ("weights", 1000.0, {}), ("gradients", 1000.0, {}), ("state", 1030.0, {}))
]  # fmt: skip


def test_what_was_counted_here_stands_beside_the_claim(complete):
    """With NumPy alone: 3,030 bytes where 3,000 are expected, so 16.16 a parameter."""
    from measured import ROWS, keep

    ROWS["ledger"] = COUNTS
    keep(complete.ledger, SLUG, "ledger")
    complete.reload()
    assert "Measured here 16.2 B" in bare(complete.parts["act1_claims"].text)
    said = bare(str(complete.piece("act1.measure").view))
    assert "4 counts in your own process" in said and "3% apart" in said and complete.shows("act1.here_close", said)
    drawn = figure(complete.piece("act1.instrument").view, "here")
    assert drawn["x"]["unit"] == "B" and [(m["x"], m["y"]) for m in drawn["marks"] if m["type"] == "point"] == [
        (1010, "kept"), (1000, "weights"), (1000, "gradients"), (1030, "state"),
    ]  # fmt: skip
    assert {m["x1"] for m in drawn["marks"] if m["type"] == "bar"} == {1000}
    assert "1.03 kB" in bare(drawn["caption"]) and "14.9 GB" in bare(drawn["caption"])  # why it is not on the mountain


def test_what_is_said_of_a_count_follows_it(complete):
    """Six tenths more than expected: nobody is told that the ledger was right."""
    from measured import ROWS, keep

    ROWS["ledger"] = [{**row, "value": 1600.0, "low": 1600.0, "high": 1600.0} if row["name"] == "kept" else row for row in COUNTS]
    keep(complete.ledger, SLUG, "ledger")
    said = bare(str(complete.reload().piece("act1.measure").view))
    assert "60% apart" in said and complete.shows("act1.here_apart", said) and not complete.shows("act1.here_close", said)
