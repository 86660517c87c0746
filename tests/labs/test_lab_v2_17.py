"""Lab V2-17 at the level of what it shows and what the ledger holds; its keys are the learner's own."""

from dataclasses import asdict, replace

import pytest
from headless import bare, figure
from test_question_case import spoil

from ironlaw.engine.numerics.forecasts import brier
from ironlaw.labs.lab_v2_17_synthesis import record, starts
from ironlaw.labs.lab_v2_17_synthesis.act2 import dialled, llama, readings, verdict
from ironlaw.recall.standing import EVERY, NOBODY, SURE_ONES
from ironlaw.systems.whole import LIMITS, Design, broken, evaluate
from ironlaw.systems.whole.whole_levers import tornado

SLUG = "lab_v2_17_synthesis"
SAID = {"act1": "most", "act1_reflection": "theme", "act2": "nics"}
MEETS = Design(pipeline=4, virtual=2, thin=2.0, scattered=0.0, spares=1, budget=512, retries=1, hall="new", noise=0.7)


def commits(ledger, outcomes, confidence=5):
    """First predictions in other labs, two a lab."""
    slugs = ("lab_01_magnitude", "lab_07_fusion", "lab_11_roofline", "lab_12_amdahl", "lab_13_line", "lab_v2_05_parallelism")
    for i, right in enumerate(outcomes):
        choice = ("e9", 1e9) if right else ("e2", 1e2)
        ledger.commit_prediction(slugs[i // 2], f"act{1 + i % 2}", choice[0], choice[1], confidence, right, 1)


def before(ledger):
    commits(ledger, [False] + [True] * 6 + [False] * 3)


def set_to(page, design):
    return page.turn("act2", **{dial: float(v) if isinstance(v, (int, float)) else v for dial, v in asdict(design).items()})


def test_nothing_gives_an_answer_away(page):
    commits(page.ledger, [True] * 6 + [False] * 2)
    page.reload()
    for sealed in ("Brier score", "75%", "6 of 8", "72.7"):
        assert sealed not in page.text.replace("three quarters", ""), f"{sealed} is on the page before the first prediction"
    assert page.parts["act1_reveal"] is None and page.piece("act1.instrument").view.get("figures") in (None, [])


# --- Act I


@pytest.mark.parametrize(
    ("outcomes", "confidence", "basis", "right"),
    [
        ([], 5, NOBODY, "quarter"),
        ([True, False], 5, EVERY, "half"),
        ([True] * 8, 2, EVERY, "nearly_all"),
        ([True] * 6 + [False] * 2, 4, SURE_ONES, "most"),
        ([True] * 3 + [False] * 5, 5, SURE_ONES, "quarter"),  # half-way: the lower one
        ([False] * 9, 5, SURE_ONES, "quarter"),
    ],
)
def test_the_key_is_the_learners_own(page, outcomes, confidence, basis, right):
    commits(page.ledger, outcomes, confidence)
    page.reload()
    assert page.lab.question("act1").learner()["standing"].basis == basis
    assert page.lab.question("act1").right.id == right
    page.predict("act1", right, 5)
    page.reload()
    assert page.lab.correct("act1") and "Your prediction holds" in bare(page.parts["act1_reveal"].text)


def test_later_labs_and_second_attempts_change_nothing(page):
    commits(page.ledger, [True] * 6 + [False] * 2)
    page.ledger.commit_prediction("lab_01_magnitude", "act1", "e3", 1e3, 5, False, 2)
    page.reload()
    assert page.lab.question("act1").answer == 0.75
    page.predict("act1", "half", 5)
    page.ledger.commit_prediction("lab_14_tail", "act1", "x", 1.0, 5, False, 1)
    page.reload()
    assert page.lab.question("act1").answer == 0.75 and page.lab.correct("act1") is False


def test_the_mark_lies_on_the_curve(bench):
    curve = figure(bench.piece("act1.instrument").view, "calibration")
    rules = {mark["id"]: mark["y"] for mark in curve["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 75.0, "truth": 60.0}
    points = {mark["id"]: mark for mark in curve["marks"] if mark["type"] == "point"}
    assert (points["c5"]["x"], points["c5"]["y"]) == (95.0, 60.0) and any(mark["id"] == "i5" for mark in curve["marks"])


def test_every_dot_opens_its_question(bench):
    dots = figure(bench.piece("act1.instrument").view, "dots")
    opened = [mark["opens"] for mark in dots["marks"] if mark["type"] == "point"]
    assert len(opened) == 10 and "/lab/lab_01_magnitude/#act1-lock" in opened and "/lab/lab_13_line/#act2-lock" in opened
    after = bench.piece("act1.instrument").view["after"]
    assert all(f'href="{address}"' in after for address in opened)


def test_the_score_is_murphys(bench):
    own = record.record(bench.lab)
    by_hand = brier([(0.95, True)] * 6 + [(0.95, False)] * 4)
    assert own.brier == by_hand and own.curve.answers == 10 == sum(point.answers for point in own.curve.points)
    assert own.held and all(one.says for one in own.held)
    off = {one.prediction.question: one.off for one in own.answered if one.prediction.lab == "lab_01_magnitude"}
    assert off["act1"] < -1 and off["act2"] is None  # far too low; a right one is not off


def test_dials_of_act_one(bench):
    still = str(bench.turn("act1", **bench.start("act1"))["figures"])
    for dial, value in (("volume", "1"), ("level", 4)):
        view = bench.turn("act1", **{**bench.start("act1"), dial: value})
        assert (str(view["figures"]), view["after"]) != (still, ""), dial
    assert not view["after"]  # nothing at confidence 4


# --- Act II


def test_the_start_is_broken_and_can_be_won(bench):
    view = bench.piece("act2.instrument").view
    assert view["banner"]["tone"] == "fail" and bench.shows("act2.broken", view["banner"]["title"])
    assert all(f"<b>{name}</b>" in view["banner"]["text"] for name in ("Days to train", "Privacy"))  # the receipt names one of them
    won = set_to(bench, MEETS)
    assert won["banner"]["tone"] == "good" and bench.shows("act2.works", won["banner"]["text"])


ALONE = {
    "memory": {"tensor": 4}, "days": {"gpus": 2048}, "goodput": {"far_every": 10_800.0}, "drain": {"saving": "async", "far_every": 30.0},
    "ports": {"thin": 1.0}, "ttft": {"replicas": 2}, "tbt": {"budget": 2048}, "availability": {"spares": 0},
    "hours": {"pipeline": 8, "scattered": 0.3, "replicas": 8, "spares": 3}, "energy": {"pipeline": 8, "scattered": 0.3, "hall": "old"},
    "carbon": {"hall": "usual"}, "epsilon": {"noise": 0.6},
}  # fmt: skip


@pytest.mark.parametrize("constraint", LIMITS)
def test_every_state_is_reached_and_named(bench, constraint):
    """Through the dials' own stops: `dialled.design_of` refuses any other."""
    design = replace(MEETS, **ALONE[constraint])
    values = {dial: getattr(design, dial) for dial in dialled.LABELS}
    assert dialled.design_of(values) == design and broken(evaluate(design)) == (constraint,)
    text = bare(verdict.banner(bench.lab, design)["text"])
    assert readings.NAMES[constraint] in text and readings.limit(constraint) in text


def test_what_does_not_divide(bench):
    view = set_to(bench, replace(MEETS, pipeline=16, virtual=4))
    assert bench.shows("act2.indivisible", view["banner"]["text"]) and [one["id"] for one in view["figures"]] == ["margins"]


def test_the_tornado_says_what_was_predicted(bench):
    drawn = figure(bench.piece("act2.instrument").view, "tornado")
    bars = {bar.name: bar for bar in tornado(Design())}
    ends = {mark["id"]: (mark["x0"], mark["x1"]) for mark in drawn["marks"] if mark["type"] == "bar"}
    now = evaluate(Design()).values["days"]
    assert ends["flops-more"] == (pytest.approx(bars["flops"].high), pytest.approx(now))
    assert next(mark for mark in drawn["marks"] if mark.get("role") == "prediction")["y"] == "network"
    assert bench.slots("act2.reveal", bench.parts["act2_reveal"].text)["broken"] == str(len(broken(evaluate(Design()))))


def test_while_a_dial_moves_nothing_is_searched_for(bench):
    start = {**bench.piece("act2.instrument").state["dials"]}
    from ironlaw.labs.lab_v2_17_synthesis.act2 import instrument

    view = instrument.view(bench.lab, {**start, "moving": True})
    assert len(view.figures) == 3


def test_the_hint_is_recorded_and_leads_out(page):
    page.first_act()
    page.predict("act2", "flops", 3)
    page.reload()
    assert page.piece("act2.hint").view["asked"] == 0
    for rung in (3, 2, 3):  # the first is one rung only, whatever was asked for
        view = page.send("act2.hint", act=page.piece("act2.hint").state.get("act", 0) + 1, rung=rung)
    assert view["asked"] == 3 and "Then every limit holds." in view["feedback"]
    *_, event = events = page.ledger.events(SLUG, "hint")
    assert [one.payload["rung"] for one in events] == [1, 2, 3]
    turned = replace(Design(), **event.payload["turns"])
    assert broken(evaluate(turned)) == () and page.ledger.design(SLUG) is None
    set_to(page, turned)
    assert page.piece("act2.instrument").view["banner"]["tone"] == "good"
    assert "no help was recorded" in page.send("act2.hint", act=4, rung=1)["feedback"] and len(page.ledger.events(SLUG, "hint")) == 3


def test_different_learners_have_different_right_answers(page):
    assert page.lab.question("act2").right.id == "flops"
    page.ledger.append("lab_v2_02_interconnect", "design", {"nics": 1})
    page.ledger.append("lab_v2_03_fabric", "design", {"leaf_thin": 7, "placed_scattered": 1.0})
    assert page.lab.question("act2").right.id == "nics"
    page.ledger.append("lab_v2_02_interconnect", "design", {"nics": 8})
    page.ledger.append("lab_v2_03_fabric", "design", {"leaf_thin": 1, "placed_scattered": 0.0})
    page.ledger.append("lab_v2_05_parallelism", "design", {"devices": 8192, "tensor": 8, "pipeline": 4, "virtual": 1})
    page.ledger.append("lab_v2_07_checkpoint", "design", {"saving": "sync", "near": "none", "far_interval_s": 43_200.0})
    assert page.lab.question("act2").right.id == "mtbf"


def test_designs_are_taken_up_and_said(page):
    page.ledger.append("lab_v2_07_checkpoint", "design", {"saving": "async", "near": "host", "near_interval_s": 60, "far_interval_s": 900})
    page.ledger.append("lab_v2_12_slo", "design", {"hedge": 0.95, "retries": 2})
    page.ledger.append("lab_v2_13_privacy", "design", {"noise": 1.1})
    page.reload().first_act()
    page.predict("act2", "flops", 3)
    page.reload()
    dials = page.start("act2")
    assert (dials["saving"], dials["near"], dials["far_every"]) == ("async", "host", 900.0)
    assert (dials["hedge"], dials["retries"], dials["noise"]) == (0.95, 2.0, 1.0)
    note = page.piece("act2.instrument").view["note"]
    assert "Lab V2-07" in page.slots("act2.given", note)["labs"] and "Lab V2-05" in bare(note)
    assert starts.start_of(page.lab).given["near"] == "lab_v2_07_checkpoint"
    page.send("context", value="house")
    assert page.start("act2")["saving"] == "sync" and page.shows("act2.house", page.piece("act2.instrument").view["note"])


def test_llama_three_row_by_row():
    rows = {row[0]: row for row in llama.rows()}
    assert rows["GPU-hours"][1].startswith("30.84") and float(rows["GPU-hours"][2].split()[0]) == pytest.approx(30.84, rel=0.25)
    assert rows["Between failures"][1] == "3.09 h" and float(rows["Goodput"][2].rstrip("%")) > 90
    assert rows["FLOP/s of a GPU"][1] == "400 TFLOP/s"
    low, _, high, _ = rows["Carbon of all three sizes"][2].replace(",", "").split()
    assert float(low) < 11_390 < float(high)


def test_an_empty_ledger_saves_nothing_false(page):
    page.first_act("quarter")
    page.predict("act2", "flops", 3)
    page.reload().reflect("act2", "seven")
    page.reload().save()
    design = page.ledger.design(SLUG)
    assert (design["predictions"], design["sure"], design["brier"], design["worst_lab"], design["hints"]) == (0, 0, None, None, 0)
    assert design["limits_broken"] == list(broken(evaluate(Design()))) and design["constraint_hit"] == "days"
    assert (design["act1_correct"], design["act2_correct"], design["act2_prediction"]) == (True, True, "flops")
    end = bare(page.reload().parts["receipt"].text)
    assert "Nothing can be said yet" in end and "FLOP/s" in end


def roles(view):
    return {mark.get("role") for mark in view["figures"][0]["marks"]}


@pytest.mark.parametrize("fill", [lambda ledger: None, before, lambda ledger: spoil(ledger, SLUG)], ids=["empty", "predictions", "designs"])
def test_the_mark_and_the_truth_are_in_front_whatever_the_ledger_holds(page, fill):
    fill(page.ledger)
    page.reload().first_act()
    assert {"prediction", "truth"} <= roles(page.piece("act1.instrument").view)
    page.second_lock()
    assert {"prediction", "truth"} <= roles(page.piece("act2.instrument").view)


def test_a_confidence_in_focus_leaves_the_others_out_and_the_mark_in(page):
    commits(page.ledger, [True, False, True, False], 4)
    page.reload().first_act()
    points = {level: _points(page.turn("act1", level=level)) for level in (0, 4, 5)}
    assert points == {0: ["c4"], 4: ["c4"], 5: []}
    assert {"prediction", "truth"} <= roles(page.turn("act1", level=5))


def _points(view):
    return [mark["id"] for mark in figure(view, "calibration")["marks"] if mark["type"] == "point"]
