"""Lab V2-05 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure
from stand_in import StandIn

from ironlaw import claims
from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.labs.lab_v2_05_parallelism.act1 import pipeline, slots
from ironlaw.labs.lab_v2_05_parallelism.act2 import figures, spread, verdict
from ironlaw.measure.experiments import scaling_trial
from ironlaw.measure.rows import case_row
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import runs
from ironlaw.systems.limits import hit

SLUG = "lab_v2_05_parallelism"
SAID = {"act1": "p4", "act1_reflection": "work", "act2": "quarter"}
META = {"pipeline": 16, "virtual": 8, "zero": 2}


def state_of(one):
    return hit(verdict.LIMITS, one).name


def test_the_pipeline_of_the_story(bench):
    view = bench.piece("act1.instrument").view
    shown = cards(view)
    assert (shown["GPUs"], shown["Microbatches"]) == ("4,608", "24") and "31.4" in view["formula"]
    idle = [mark for mark in figure(view, "gantt")["marks"] if mark["type"] == "bar" and mark.get("pattern")]
    assert sum(mark["x1"] - mark["x0"] for mark in idle) / (12 * 100) == pytest.approx(bubble(12, 24))
    rules = {mark["id"]: mark["x"] for mark in figure(view, "pieces")["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 3.8, "truth": pytest.approx(100 * 11 / 35)}


def test_published_shares_stand_on_their_rows(bench):
    marks = figure(bench.piece("act1.instrument").view, "more-gpus")["marks"]
    assert {mark["y"]: mark["x"] for mark in marks if mark["type"] == "point"} == {"96 GPUs": 47.0, "4,608 GPUs": 42.0}
    rows = {}
    for mark in marks:
        if mark["type"] == "bar":
            rows[mark["y"]] = rows.get(mark["y"], 0.0) + mark["x1"] - mark["x0"]
    assert len(rows) == 7 and all(total == pytest.approx(100) for total in rows.values())


def test_what_does_not_divide_can_not_be_chosen():
    one = pipeline.premise()
    assert pipeline.why_not_stages("llama3_405b", 12) and not pipeline.why_not_stages("llama3_405b", 16)
    assert pipeline.why_not_pieces(replace(one, pipeline=16), 2).startswith("24 microbatches are not a multiple of 16")
    assert pipeline.why_not_pieces(replace(one, pipeline=1), 2) == "needs a pipeline" and not pipeline.why_not_pieces(one, 8)
    assert pipeline.valid(replace(one, pipeline=16, virtual=4)).virtual == 1


def test_the_model_stands_beside_what_was_published():
    few, many = slots.ends()
    assert (round(100 * few), round(100 * many)) == (52, 44) and (slots.stated(96), slots.stated(4608)) == (0.47, 0.42)


# --- Act II


def case(**settings):
    return spread.Case(box("grand_teton_h100"), **settings)


def test_the_published_layouts_pass():
    for run in runs("llama3_2024"):
        one = case(devices=run.layout.devices, seq=run.seq).like(run.layout)
        assert state_of(one) == "works" and one.published == run and one.layout == run.layout


def test_the_keys_move_with_the_registry(bench, monkeypatch):
    small = replace(claims.NAMESPACE["hardware"]("h100_sxm"), capacity=40e9)
    monkeypatch.setitem(claims.NAMESPACE, "hardware", lambda name: small)
    assert bench.lab.question("act2_reflection").right.id == "memory"
    kept = {4: 8.0, 16: 2.0}
    monkeypatch.setitem(
        claims.NAMESPACE, "layout_step", lambda model, box, one, *more: StandIn(memory=StandIn(activations=kept[one.pipeline]))
    )
    assert bench.lab.question("act2").right.id == "quarter"


def test_the_prediction_is_a_row_where_the_question_s_case_is_drawn(bench):
    def activations(**dials):
        bars = figure(bench.turn("act2", **{**bench.start("act2"), **dials}), "memory")["marks"]
        return {bar["y"]: bar["x1"] - bar["x0"] for bar in bars if bar["type"] == "bar" and bar.get("name") == "activations"}

    few = activations()
    tried, said = figures.TRIED, figures.SAID
    assert few[said] == pytest.approx(few["yours"] / 4) and few[tried] == pytest.approx(few["yours"], rel=0.05)
    assert activations(pipeline=16)["yours"] == few[tried] == activations(zero=2, recompute="full")[tried]
    assert tried not in activations(model="llama3_70b")


def test_the_ledger_keeps_what_later_labs_start_from(page):
    page.first_act("p31")
    page.predict("act2", "as_many", 3)
    page.reload().reflect("act2", "bubble")
    page.reload()
    page.turn("act2", **{**page.start("act2"), **META})
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["tensor"], design["pipeline"], design["context_parallel"], design["data"]) == (8, 16, 1, 128)
    assert design["state_bytes"] == 14 * design["parameters"] == pytest.approx(5.68e12, rel=0.01)
    assert design["state_bytes_per_device"] == design["state_bytes"] / 16384 and design["boxes"] == 2048
    assert design["constraint_hit"] is None and 0.4 < design["mfu"] < 0.5 and design["act1_correct"] and design["act2_correct"]


def test_it_offers_where_the_labs_before_it_ended(page):
    page.first_act()
    assert page.start("act2")["gradient_bytes"] == 4
    page.predict("act2", "as_many", 3)
    page.reload()
    assert not page.piece("act2.instrument").spec["offers"]
    page.ledger.append("lab_v2_06_collectives", "design", {"gradient_bytes": 2})
    page.ledger.append("lab_v2_02_interconnect", "design", {"nics": 3})
    page.reload()
    gradients, ports = (offer["dials"] for offer in page.piece("act2.instrument").spec["offers"])
    assert (gradients["gradient_bytes"], ports["nics"], page.start("act2")["gradient_bytes"]) == (2, 3, 4)


def test_the_learners_own_processes(page, monkeypatch):
    rows = [
        case_row(scaling_trial.RING, "ring", {"ranks": 2, "bytes": size}, measured.timing(1e-3 + size / 1e8))
        for size in scaling_trial.SIZES
    ]
    for batch, one, two in ((64, 0.02, 0.06), (1024, 0.2, 0.125)):
        for count, seconds in ((1, one), (2, two)):
            params = {
                "ranks": count,
                "batch": batch,
                "bytes": scaling_trial.SIZES[-1] if count > 1 else 0,
                "wire_s": 0.04 if count > 1 else 0.0,
            }
            rows.append(case_row(scaling_trial.STEP, "step", params, measured.timing(seconds)))
    monkeypatch.setitem(measured.ROWS, "scaling", rows)
    measured.keep(page.ledger, SLUG, "scaling")
    page.reload().first_act()
    told = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    found = page.slots("act1.here_scaling", told)
    assert (found["small_of"], found["large_of"], found["large_two"]) == ("17%", "80%", "125 ms")
    assert "1.25×" in bare(page.parts["act1_claims"].text)
    bars = figure(page.piece("act1.instrument").view, "more-gpus")["marks"]
    drawn = {bar["y"]: bar["x1"] for bar in bars if bar["type"] == "bar" and bar["colour"] == "here"}
    assert drawn == {"here: 64 examples on two": pytest.approx(100 / 6), "here: 1,024 examples on two": pytest.approx(80)}


def test_the_search_has_the_learners_own_gradients():
    """With BF16 gradients from Lab V2-06 a learner reached 43.9% beside "the best of 40", 42.1%."""
    narrow = case(gradient_bytes=2, pipeline=16, virtual=8, zero=1)
    assert {one.layout.gradient_bytes for one in narrow.ranking} == {2.0}
    assert narrow.best.time.total <= narrow.step.time.total
    assert "2 bytes" in verdict.searched(narrow) and "4 or 8" in verdict.searched(narrow)


def test_a_pipelines_words_have_the_axis_unit(bench):
    """It wrote "at 100 s" on an axis in percent."""
    text = figure(bench.piece("act1.instrument").view, "gantt")["text"]
    assert " s " not in text and "%" in text.split("at ")[-1]


def test_the_film_waits_as_the_formula_and_takes_the_steps_own_seconds(bench):
    view = bench.piece("act1.instrument").view
    (film,) = view["motions"]
    waited = next(counter for counter in film["counters"] if counter[2] == "%")
    assert waited[1][-1][1] == pytest.approx(100 * 11 / 35, rel=1e-4)  # 12 stages, 24 microbatches
    step = next(card for card in view["cards"] if card["label"] == "Step")
    assert film["end"] < float(step["value"]) and film["caption"]
