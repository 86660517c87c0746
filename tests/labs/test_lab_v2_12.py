"""Lab V2-12 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

import math
from dataclasses import replace

import measured
import pytest
from headless import bare, cards, figure
from scipy import stats

from ironlaw import claims
from ironlaw.engine.serving.laws import law
from ironlaw.engine.serving.sums import total
from ironlaw.labs.lab_v2_12_slo import services
from ironlaw.labs.lab_v2_12_slo.act1 import composition, figures
from ironlaw.labs.lab_v2_12_slo.act2 import figures as figures_of_act2
from ironlaw.labs.lab_v2_12_slo.act2 import instrument, plan, verdict
from ironlaw.measure.rows import case_row
from ironlaw.systems.limits import hit

SLUG = "lab_v2_12_slo"
SAID = {"act1": "add", "act1_reflection": "together", "act2": "quarter"}
GAMMA = stats.gamma(5, scale=0.1 / math.log(100))


def state_of(one):
    return hit(verdict.LIMITS, one).name


# --- Act I


def test_the_story(bench):
    view = bench.piece("act1.instrument").view
    shown = cards(view)
    assert shown["P99 of the whole"] == "252 ms" and shown["The whole needs"] == "50.4%"
    density = figure(view, "density")
    rules = {mark["id"]: mark["x"] for mark in density["marks"] if mark["type"] == "rule"}
    assert rules == {
        "rule-one call": pytest.approx(0.1),
        "rule-sum": pytest.approx(0.5),
        "prediction": 0.5,
        "truth": pytest.approx(GAMMA.ppf(0.99), rel=1e-4),
    }


def test_the_density_is_the_laws(bench):
    """Bin by bin, against the exponential and the gamma law."""
    density = figure(bench.piece("act1.instrument").view, "density")
    lines = {mark["name"]: mark["points"] for mark in density["marks"] if mark["type"] == "line"}
    ratio = math.sqrt(lines["one call"][1][0] / lines["one call"][0][0])
    for name, exact in (("one call", stats.expon(scale=0.1 / math.log(100))), ("the whole", GAMMA)):
        for at, share in lines[name]:
            assert share == pytest.approx(100 * (exact.cdf(at * ratio) - exact.cdf(at / ratio)), abs=0.05), (name, at)


def test_shares_over_stay_under_the_bound(bench):
    over = figure(bench.piece("act1.instrument").view, "over")
    lines = {mark["name"]: dict(map(tuple, mark["points"])) for mark in over["marks"] if mark["type"] == "line"}
    row, bound = lines[figures.ROW], lines[figures.SOME]
    assert all(row[count] <= bound[count] * 1.001 for count in row) and row[1] == pytest.approx(1) and max(bound) == 1000
    assert row[5] == pytest.approx(100 * GAMMA.sf(0.5), rel=0.02) and bound[100] == pytest.approx(63.397, abs=1e-3)


def test_dependence_calls_and_heavy_tails(bench):
    start = bench.start("act1")

    def whole(**moves):
        return cards(bench.turn("act1", **{**start, **moves}))

    assert whole(dependence=100)["P99 of the whole"] == "500 ms"
    page = whole(steps=1, calls=100)
    assert page["Within one call's limit"] == "36.6%"
    together = whole(steps=1, calls=100, dependence=100)
    assert together["Within one call's limit"] == "99%" and together["P99 of the whole"] == "100 ms"
    assert whole(law="pareto", index=0.8)["P99 of the whole"] == "764 ms"
    assert bench.shows("act1.no_mean", bench.turn("act1", **{**start, "law": "pareto", "index": 0.8})["note"])
    both = composition.Setting(steps=3, calls=20)
    assert both.count == 60 and both.bound == pytest.approx(1 - 0.99**60) and both.seconds > replace(both, calls=1).seconds


@pytest.mark.parametrize("kind", ["exponential", "lognormal", "pareto"])
def test_extremes_are_drawn(bench, kind):
    start = bench.start("act1")
    for steps, calls, spread, index, p99 in ((1, 1, 0.1, 4, 1), (50, 1000, 3, 0.6, 1000), (50, 1, 3, 0.6, 1), (1, 1000, 0.1, 4, 1000)):
        for dependence, p in ((0, 0.5), (100, 0.999), (40, 0.99)):
            view = bench.turn("act1", **{**start, "law": kind, "steps": steps, "calls": calls, "spread": spread, "index": index, "p99": p99,
                                         "dependence": dependence, "p": p})  # fmt: skip
            assert not view.get("error"), view.get("error")
            assert figure(view, "density")["marks"] and figure(view, "over")["marks"]


def test_contexts_are_services(bench):
    begins = {}
    for slug in ("pages", "answer", "here", "chain"):
        bench.send("context", value=slug)
        begins[slug] = bench.start("act1")
    assert (begins["pages"]["steps"], begins["pages"]["calls"], begins["pages"]["p99"]) == (1, 100, 10)
    assert (begins["answer"]["law"], begins["answer"]["first"]) == ("lognormal", services.FIRST_TOKEN)
    assert begins["here"] == begins["chain"]


# --- Act II


def test_it_opens_on_the_question_s_case(bench):
    """One service's callers retry three times: four attempts at 80% of capacity. The run is the question's, second by second."""
    opened = plan.plan_of(bench.start("act2"))
    assert opened.storm == plan.PREMISE.storm and (opened.amplified, opened.late_load) == (4, pytest.approx(3.2))
    spike = figure(bench.piece("act2.instrument").view, "spike")
    sent = next(mark["points"] for mark in spike["marks"] if mark["name"] == "sent")
    assert 600 < max(y for _, y in sent) < figures_of_act2.MOST and "drawn there" not in spike["note"]


def test_the_goal_is_kept_in_more_than_one_way():
    ways = ({"budget": 0.1}, {"limit": 40}, {"order": "lifo"}, {"breaker": 0.5}, {"retries": 0})
    for way in ways:
        assert state_of(plan.Plan(replicas=5, common=0.05, **way)) == "works", way


def test_retries_that_are_not_simulated_change_nothing():
    """From a load of a tenth on, those of the run keep a late line late as surely as a thousand."""
    assert plan.Plan(10.0, retries=5, where=plan.EVERY).amplified == 6**5 and plan.Plan().storm.retries == 3
    for rate in range(40, 501, 20):
        one = plan.Plan(float(rate), retries=5, where=plan.EVERY)
        assert plan.stuck(one.share, one.storm.retries)
    assert plan.PREMISE.storm.retries == 3 and plan.PREMISE.course.last == 0


def test_what_is_up_depends_on_what_must_be():
    """Four replicas for 320 requests a second are all needed; a fifth may fail, and three are never enough."""
    busy, more, few = (plan.Plan(replicas=count) for count in (4, 5, 3))
    assert busy.needed == more.needed == few.needed == 4
    assert busy.layer_up == pytest.approx((1 - 1e-4) * (1 - 9e-4) ** 4)
    assert more.layer_up == pytest.approx((1 - 1e-4) * ((1 - 9e-4) ** 5 + 5 * 9e-4 * (1 - 9e-4) ** 4))
    assert few.available == 0 and few.latency == float("inf")
    assert busy.available == pytest.approx(busy.layer_up**5) and plan.Plan(200.0, hedge=0.95).needed == 3


def test_a_replica_takes_load_off():
    """320 requests a second over four replicas of 100, then over five; it was a share of what they can do, and nothing changed."""
    four, five = plan.Plan(), plan.Plan(replicas=5)
    assert (four.share, five.share) == pytest.approx((0.8, 0.64))
    assert five.latency < 0.75 * four.latency and five.available > four.available and five.late_load < four.late_load
    assert four.storm.spike == pytest.approx(1.5) and five.storm.spike == pytest.approx(1.2)


def test_layers_on_one_line_and_with_one_cause():
    """P99.9 of M/M/4 at 80%, by Erlang's C and a wait of rate 80 a second; of five equally slow layers it is five times that."""
    one, together = plan.Plan(layers=1, retries=0), plan.Plan(retries=0, together=1.0)
    waits, t = 0.5964, one.latency  # C(4, 3.2)
    tail = math.exp(-100 * t) * (1 + waits * (1 - math.exp(-(80 - 100) * t)) / (4 - 1 - 3.2))
    assert tail == pytest.approx(1e-3, rel=1e-3) and together.latency == pytest.approx(5 * t, rel=1e-3)
    assert plan.Plan(retries=0).latency < plan.Plan(retries=0, together=0.1).latency < together.latency


def test_a_copy_needs_a_second_replica(bench):
    assert plan.Plan(replicas=1, hedge=0.95).copies == 0 and plan.Plan(200.0, hedge=0.95).copies == pytest.approx(0.05)
    for replicas in (1, 2):
        hedge = next(dial for dial in instrument.dials(bench.lab)({"replicas": replicas}) if dial["id"] == "hedge")
        assert all(bool(option["disabled"]) == bool(option["value"] and replicas == 1) for option in hedge["options"])


def test_the_spike_is_seen_up_to_the_moment(bench):
    start = bench.start("act2")
    for moment in (0, 14, 80):
        spike = figure(bench.turn("act2", **{**start, "limit": 40, "moment": moment}), "spike")
        lines = {mark["name"]: mark["points"] for mark in spike["marks"] if mark["type"] == "line"}
        assert set(lines) == {"sent", "answered in time", "sent, without your changes", "in time, without your changes"}
        assert all(points[-1][0] <= max(moment, 1) for points in lines.values())
    assert lines["answered in time"][-1][1] > 60 and lines["in time, without your changes"][-1][1] == 0 and len(lines["sent"]) == 40


def test_extremes_of_act_two_are_drawn(bench):
    start = bench.start("act2")
    low = {"load": 10, "layers": 1, "retries": 0, "timeout": 2, "replicas": 1, "up": 99, "common": 0}
    high = {"load": 500, "layers": 6, "retries": 5, "timeout": 0.05, "replicas": 5, "up": 99.99, "common": 100, "hedge": 50}
    for moves in (low, high, {**high, "load": 10}, {**low, "order": "lifo", "breaker": 25}):
        view = bench.turn("act2", **{**start, **moves})
        assert not view.get("error"), view.get("error")
        assert {"spike", "latencies", "down"} == {one["id"] for one in view["figures"]}


def test_the_moment_says_its_share_unless_the_answer_beside_it_does(bench):
    start = bench.start("act2")

    def label(**turned):
        marks = figure(bench.turn("act2", **{**start, **turned}), "spike")["marks"]
        return bare(next(mark.get("label", "") for mark in marks if mark.get("id") == "moment"))

    assert label(moment=80) == "" and label(moment=40) == "0%"
    assert label(moment=80, limit=20, retries=0) not in ("", "0%")


def test_the_answer_stands_on_its_own_spike(bench):
    said = figure(bench.piece("act2.instrument").view, "spike")
    marks = {mark["id"]: mark for mark in said["marks"]}
    assert marks["prediction"]["y"] == 25 and marks["truth"]["y"] == 0


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_engine(bench, monkeypatch):
    monkeypatch.setitem(claims.NAMESPACE, "service_law", lambda kind, p99: law("pareto", p99, 0.8))
    assert bench.lab.question("act1").right.id == "compound" and bench.lab.question("act1_reflection").right.id == "apart"
    monkeypatch.setitem(claims.NAMESPACE, "service_chain", lambda laws, dependence=0.0: total(laws, 1.0))
    assert bench.lab.question("act1").right.id == "add"
    storm = claims.NAMESPACE["Storm"]
    monkeypatch.setitem(claims.NAMESPACE, "Storm", lambda **settings: storm(**settings, retries=0))
    assert bench.lab.question("act2").right.id == "all"
    monkeypatch.setitem(claims.NAMESPACE, "attempts", lambda failure, retries, layers: layers * (retries + 1))
    assert bench.lab.question("act2_reflection").right.id == "twelve"


def test_the_ledger_keeps_what_was_designed(page):
    page.first_act("meet")
    page.predict("act2", "none", 3)
    page.reload().reflect("act2", "all")
    page.reload()
    page.turn("act1", steps=10, dependence=20)
    page.turn("act2", load=200, budget=10, common=5)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["steps"], design["calls"], design["law"], design["dependence"], design["quantile"]) == (10, 1, "exponential", 0.2, 0.99)
    assert design["whole_s"] == pytest.approx(total([law("exponential", 0.1)] * 10, 0.2).quantile(0.99), rel=1e-4)
    assert (design["rate_per_s"], design["replicas"], design["together"]) == (200, 4, 0)
    assert (design["load"], design["retry_budget"], design["retries"], design["layers"]) == (0.5, 0.1, 3, 5)
    assert design["latency_p999_s"] == pytest.approx(0.1544, abs=1e-3) and design["availability"] > 0.9995 and design["back_s"] <= 60
    assert design["constraint_hit"] is None
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (0.25, True, True)


def test_a_server_of_the_lab_before_offers_its_first_token(page):
    page.first_act().send("context", value="answer")
    assert page.shows("act1.first_open", page.piece("act1.instrument").view["note"])
    page.ledger.append(services.SERVING, "design", {"ttft_p99_s": 0.8})
    page.reload()
    page.send("context", value="chain")
    page.send("context", value="answer")
    (offer,) = page.piece("act1.instrument").spec["offers"]
    assert offer["dials"]["first"] == 0.8 and page.start("act1")["first"] == services.FIRST_TOKEN


@pytest.fixture
def run(monkeypatch):
    """Calls of a millisecond, one in fifty of ten; in a row slower than apart, beside neighbours by half."""
    rows = []
    for neighbours, factor in ((0, 1.1), (2, 1.5)):
        beside = {"neighbours": neighbours}
        kept = {"quantiles": [0.001] * 490 + [0.010] * 11} if not neighbours else {}
        for name, p99 in (("one", 0.010), ("chain", 0.020 * factor), ("independent", 0.020)):
            rows.append(case_row(name, name, {**beside, "p99_s": p99, **(kept if name == "one" else {})}, measured.timing(0.001)))
    monkeypatch.setitem(measured.ROWS, "tails", rows)


def test_giants_beyond_the_p99_of_one(page, monkeypatch):
    """One call in two hundred of 8 ms, the others of 40 µs: P99 of one does not know them, and that of five is made of them."""
    rows = [
        case_row(name, name, {"neighbours": count, "p99_s": p99, "quantiles": [40e-6] * 498 + [8e-3] * 3}, measured.timing(40e-6))
        for count in (0, 2)
        for name, p99 in (("one", 40e-6), ("chain", 8e-3), ("independent", 8e-3))
    ]
    monkeypatch.setitem(measured.ROWS, "tails", rows)
    measured.keep(page.ledger, SLUG, "tails")
    page.reload().first_act()
    words = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    assert page.slots("act1.here_giants", words)["times"] == "40×" and page.shows("act1.here_apart", words)
    page.send("context", value="here")
    setting = composition.setting_of(page.lab, page.start("act1"))
    assert setting.seconds > 10 * setting.added and "as much as the sum" in str(page.piece("act1.instrument").view["cards"])


def test_the_learners_own_calls(page, run):
    measured.keep(page.ledger, SLUG, "tails")
    page.reload().first_act()
    words = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    shown = page.slots("act1.here_tails", words)
    assert (shown["one"], shown["chain"], shown["added"]) == ("10 ms", "22 ms", "50 ms")
    assert page.slots("act1.here_together", words)["ratio"] == "1.5×"
    bars = [mark for mark in figure(page.piece("act1.instrument").view, "here")["marks"] if mark["type"] == "bar"]
    assert len(bars) == 8 and all(mark["colour"] == "here" for mark in bars)
    assert "44%" in bare(page.parts["act1_claims"].text) and not page.shows("act1.here_giants", words)
    page.send("context", value="here")
    assert round(composition.setting_of(page.lab, page.start("act1")).single, 3) == 0.010 and page.start("act1")["law"] == "measured"
    assert 0.012 < composition.setting_of(page.lab, page.start("act1")).seconds < 0.025


# --- words and figures that were false


def test_together_is_neither_the_worst_case_nor_turns_the_best(page):
    """Two exponentials with P99 = 100 ms: 2·Q(0.995) = 230 ms where the slowest hundredths are paired in reverse, and 100 ms where the
    slowest meet each other and the rest is paired in reverse."""
    tail = [-math.log(1 - (99 + (k + 0.5) / 1000) / 100) * 0.1 / math.log(100) for k in range(1000)]
    assert min(a + b for a, b in zip(tail, reversed(tail), strict=True)) == pytest.approx(0.2301, abs=1e-4)
    page.predict("act1", "add", 4)
    view = page.reload().reflect("act1", "together")
    assert page.slots("act1_reflection.feedback.together", view["answered"]["feedback"])["worst"] == "230 ms"


def test_one_figure_for_the_share_beyond_the_sum(bench):
    """1.4036 in a million, on the card and in the picture."""
    view = bench.turn("act1", **bench.start("act1"))
    assert dict(composition.in_a_row(composition.Setting()))[5] == pytest.approx(GAMMA.sf(0.5), rel=5e-4)
    assert cards(view)["Over the sum"].startswith("0.00014%")


def test_the_formula_knows_the_dependence(bench):
    one = composition.Setting(steps=1, calls=100, dependence=1.0)
    assert one.missed == pytest.approx(0.01) and replace(one, dependence=0.0).missed == pytest.approx(0.63397, abs=1e-5)
    view = bench.turn("act1", **{**bench.start("act1"), "steps": 1, "calls": 100, "dependence": 100})
    assert "63.4" not in bare(view["formula"])
    bench.turn("act1", **bench.start("act1"))


def test_the_loop_counts_what_the_spike_shows(bench):
    view = bench.piece("act2.instrument").view
    (loop,) = view["motions"]
    drawn = {mark["name"]: mark["points"] for mark in figure(view, "spike")["marks"] if mark["type"] == "line"}
    counted = {counter[0]: counter[1] for counter in loop["counters"]}
    assert counted["in time"][-1][1] == pytest.approx(drawn["answered in time"][-1][1], abs=0.01) and loop["caption"]
    sent = counted["new"][-1][1] + counted["retries"][-1][1]
    assert min(400, sent) == pytest.approx(drawn["sent"][-1][1], rel=1e-3)
