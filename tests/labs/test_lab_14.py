"""Lab 14 at the level of what it shows and what the ledger holds."""

import math
from dataclasses import replace

import pytest
from headless import Page, bare, cards, figure
from ledger_at_hand import open_ledger
from measured import keep

from ironlaw.claims import compute
from ironlaw.engine.serving.services import curve_mean
from ironlaw.kit.lab_check import complete
from ironlaw.labs.lab_14_tail.act1 import instrument
from ironlaw.labs.lab_14_tail.act1.case import Case, tene
from ironlaw.labs.lab_14_tail.act2 import figures, fleet, verdicts
from ironlaw.labs.lab_14_tail.act2.fleet import ALL, BUDGET, CALLED_BACK, OFF, Fleet
from ironlaw.labs.lab_14_tail.act2.instrument import exactness
from ironlaw.systems.limits import hit

SLUG = "lab_14_tail"
SAID = {"act1": "ms900", "act1_reflection": "above", "act2": "stuck"}
SMALL = Fleet(n=3_000, k=5)  # known, and quick to simulate


# --- locked


# --- the keys, and what they hang on


def test_the_first_key_is_the_instruments_own_case(page):
    assert page.lab.question("act1").right.id == "ms900"
    assert page.lab.question("act1").answer == pytest.approx(Case().users.quantile(0.99)) == pytest.approx(0.911)
    said = page.slots("act1.message", page.parts["act1_message"].text)
    assert said["tester"] == "1 ms"


@pytest.mark.parametrize(
    ("question", "premise", "other", "right"),
    [
        ("act1", "Stalls(1.0, 10.0, 9.0)", "Stalls(0.1, 20.0, 9.0)", "ms1"),
        ("act1", "Stalls(1.0, 10.0, 9.0)", "Stalls(0.2, 10.0, 9.0)", "ms100"),
        ("act1_reflection", "order_interval(200, 0.99)", "order_interval(400, 0.99)", "sigma"),
        ("act1_reflection", "order_interval(200, 0.99)", "order_interval(2, 0.5)", "nothing"),
        ("act2", "hedge_fate(0.70, budget=None)", "hedge_fate(0.40, budget=None)", "faster"),
        ("act2", "hedge_fate(0.70, budget=None)", "hedge_fate(0.70, budget=0.05)", "faster"),
        ("act2_reflection", "fan_out_quantile(0.99, 100)", "fan_out_quantile(0.99, 10)", "p999"),
        ("act2_reflection", "fan_out_quantile(0.99, 100)", "fan_out_quantile(0.99, 1)", "p99"),
    ],
)
def test_every_key_moves_with_its_premise(bench, question, premise, other, right):
    asked = bench.lab.question(question)
    assert premise in asked.key
    found = compute(asked.key.replace(premise, other), "here")
    if question == "act1":
        found = min(asked.options, key=lambda option: abs(math.log(option.value / found))).id
    assert found == right != asked.right.id


# --- Act I


def test_first_reading(bench):
    view = bench.piece("act1.instrument").view
    assert cards(view) == {"Users' P99": "911 ms", "Test's P99": "1 ms", "Never sent": "1,089", "A stall": "1 s"}
    assert view["banner"]["tone"] == "fail" and bench.shows("act1.misses", view["banner"]["text"])
    assert [f["id"] for f in view["figures"]] == ["triangle", "percentiles", "requests"]
    rules = {m["id"]: m["x"] for m in figure(view, "percentiles")["marks"] if m["type"] == "rule"}
    assert rules == {"prediction": 1.0, "truth": pytest.approx(0.911)}
    assert "= 911 ms" in bare(view["formula"]) and "rank 9,880 to 9,920" in bare(view["formula"])
    slow = [m for m in figure(view, "triangle")["marks"] if m["type"] == "point" and m["y"] > 0.5]
    assert len(slow) == 1  # the tester's one request in the stall


def test_the_formula_is_the_simulation(bench):
    for dials in ({"stopped": 20}, {"period": 50, "rate": 50}, {"work": "own", "service": 5.0}):
        view = bench.turn("act1", **dials)
        users = cards(view)["Users' P99"]
        assert f"= {users}" in bare(view["formula"]).replace("\u202f", " ")
        bench.turn("act1", stopped=10, period=10, rate=100, work="asked")


def test_the_device_sets_the_service_where_that_is_chosen(bench):
    view = bench.turn("act1", work="device", stopped=0)
    image = bench.slots("act1.work", view["note"])["image"]
    assert cards(view)["Users' P99"] == image


def test_filling_in_stays_within_bounds():
    """An overloaded server with many connections would fill in a hundred million answers."""
    full = Case(rate=1000, service=0.05, connections=64, n=5_000, corrected=True)
    assert full.tester.n < 100_000 and full.tester.quantile(0.99) > 0.9 * full.polite.quantile(0.99)


@pytest.mark.parametrize(
    ("case", "word", "banner"), [
        (Case(), "misses the stall", "misses"),
        (Case(connections=8, corrected=True, stopped=0.005, n=2_000), "too high", "too_much"),
        (Case(stopped=0.0), "agrees", "agrees"),
    ],
)  # fmt: skip
def test_the_card_says_what_the_banner_says(case, word, banner):
    assert next(card["word"] for card in instrument.cards(case) if card["label"] == "Test's P99") == word
    assert hit(instrument.LIMITS, case).name == banner


def test_tene_is_a_button(bench):
    assert Case(period=200.0, stopped=0.5, n=20_000) == tene()
    said = bench.slots("act1.reveal", bench.parts["act1_reveal"].text)
    assert (said["closed_high"], said["open_high"], said["frozen"]) == ("1 ms", "82 s", "100 s")
    said = bench.slots("act1.peek", bench.parts["act1_peek"].text)
    assert (said["closed_mean"], said["open_mean"], said["open_p75"], said["once_mean"], said["once_p75"]) == (
        "11 ms", "27.5 s", "55 s", "25 s", "50 s",
    )  # fmt: skip


# --- Act II


def test_the_question_s_own_design_can_get_stuck(bench):
    view = bench.piece("act2.instrument").view
    assert view["banner"]["title"] == "It can get stuck" and "140" in bare(view["formula"])
    assert cards(view)["After the pause"] == "stays late" and cards(view)["Shard's percentile"] == "P99.99"
    late = next(m for m in figure(view, "over-time")["marks"] if m["id"] == "line-late requests")["points"]
    assert late[0][1] < 20 and late[-1][1] > 90
    told = bench.slots("act2.reveal", bench.parts["act2_reveal"].text)
    assert (told["worst"], told["slow"], told["calm_worst"]) == ("140%", "63.4%", "80%")


@pytest.mark.parametrize(
    ("state", "there", "not_there"),
    [
        ("stuck", {"hedge": BUDGET, "budget": 0.1, "rho": 0.95}, {"hedge": BUDGET, "budget": 0.05, "rho": 0.95}),
        ("unknown", {"k": 10, "rho": 0.3, "n": 2_000}, {"k": 10, "rho": 0.3, "n": 3_000}),
    ],
)
def test_a_budget_may_be_too_large_and_a_count_too_small(state, there, not_there):
    assert hit(verdicts.LIMITS, replace(SMALL, **there)).name == state != hit(verdicts.LIMITS, replace(SMALL, **not_there)).name


def test_banners_say_what_to_change(bench):
    late = bench.turn("act2", hedge=OFF, rho=50, k=5, n=3000, target=20)["banner"]
    said = bench.slots("act2.late", late["text"])
    assert late["tone"] == "fail" and said["percentile"] == "P99.7992" and said["target"] == "20 ms"
    unknown = bench.slots("act2.unknown", bench.turn("act2", k=100)["banner"]["text"])
    assert (unknown["n"], unknown["needed"]) == ("3,000", "29,808")
    view = bench.turn("act2", k=5, rho=70, target=2000)
    assert view["banner"]["tone"] == "good" and bench.shows("act2.works", view["banner"]["text"])
    stuck = bench.turn("act2", hedge=ALL, rho=70)["banner"]["text"]
    assert bench.slots("act2.stuck", stuck)["worst"] == "140%"


def test_the_goal_is_met_with_copies_and_not_with_more_shards(bench):
    """Without copies 70% is too late and 40% is in time, but it takes other machines; late copies with a budget do it."""
    (aim,) = bench.lab.aims.values()

    def broken(**dials):
        limit = aim.goal.broken(bench.lab, {**aim.values, **dials})
        return limit.name if limit else ""

    assert broken() == "stuck" and broken(hedge=OFF) == "late" and broken(hedge=OFF, rho=40) == "more_shards"
    assert broken(hedge=BUDGET, quantile=99, budget=2) == broken(hedge=CALLED_BACK) == ""
    bench.turn("act2", hedge=OFF)


def test_a_pause_tips_what_can_tip_and_nothing_else():
    tips = replace(SMALL, hedge=ALL, rho=0.55)
    assert fleet.stays_late(tips, 5.0) and not fleet.stays_late(tips, 0.0)
    assert not fleet.stays_late(replace(SMALL, hedge=ALL, rho=0.3), 5.0)
    assert not fleet.stays_late(replace(SMALL, hedge=CALLED_BACK, rho=0.6), 1.0)


def test_a_safe_fleet_that_is_not_back_yet_is_not_called_stuck(bench):
    view = bench.turn("act2", hedge=CALLED_BACK, rho=60, pause=5, k=5, n=3000)
    assert cards(view)["After the pause"] == "catches up"
    assert cards(bench.turn("act2", pause=0.5))["After the pause"] == "comes back"


def test_calling_back_is_a_proof_only_for_exponential_service(bench):
    def word(**dials):
        view = bench.turn("act2", hedge=CALLED_BACK, k=5, n=3000, **dials)
        return next(card["word"] for card in view["cards"] if card["label"] == "After the pause"), bare(view["formula"])

    assert word(rho=70, leaf="exponential", pause=0.5)[0] == "safe"
    told, formula = word(rho=70, leaf="fixed", pause=0.5)
    assert told == "not proven" and "140" in formula
    assert word(rho=40, leaf="fixed", pause=0.5)[0] == "safe"


def test_leaves_of_every_kind_have_the_mean_that_is_said():
    for leaf in ("fixed", "two"):
        works = fleet._works(leaf, (), 20_000)
        assert sum(works) / len(works) == pytest.approx(1.0, rel=0.1)
    curve = (1.0, 2.0, 3.0)
    assert curve_mean(curve) == 2.0
    drawn = fleet._works("here", curve, 5_000)
    assert sum(drawn) / len(drawn) == pytest.approx(1.0, rel=0.03) and min(drawn) >= 0.5 and max(drawn) <= 1.5
    order = [replace(SMALL, leaf=leaf, rho=0.6).leaf_p99 for leaf in ("fixed", "exponential", "two")]
    assert order == sorted(order)


def test_fewer_requests_while_a_dial_moves(bench):
    piece = bench.piece("act2.instrument")
    moving = piece.look({**piece.state, "moving": True})
    assert "3,000" in bench.slots("act2.moving", moving["note"])["moving"]
    bench.turn("act2", rho=40)
    assert not bench.shows("act2.moving", bench.piece("act2.instrument").view["note"])


# --- measured here, the ledger, and Lab 13


def test_what_was_measured_here_is_said_drawn_and_kept(page):
    complete(page.lab)
    keep(page.ledger, SLUG, "omission", "fan_out")
    page.reload()
    lab = page.lab
    from ironlaw.labs.lab_14_tail import design
    from ironlaw.labs.lab_14_tail.act1 import local_runs as first
    from ironlaw.labs.lab_14_tail.act2 import local_runs as second

    kept = design.design(lab)
    assert (kept["here_open_p99_s"], kept["here_closed_p99_s"]) == (0.48, 0.004)
    assert first.local_figures(lab)["test_sees_users_p99"].value == pytest.approx(100 / 120)
    told = second.slots(lab, lab.local_run("fan_out"))
    assert told["most"] == "100" and "come together" in told["verdict"]
    assert "120×" in bare(first.captions(lab)["omission"](lab.local_run("omission")))
    own = {m["name"]: m["x"] for m in figure(page.turn("act1"), "percentiles")["marks"] if m.get("colour") == "here"}
    assert own["P99 here, users"] == 0.48 and own["P99 here, tester"] == 4e-3
    assert sum(fleet.here(lab)) == pytest.approx(198e-5 + 3e-3)
    view = page.turn("act2", leaf="here", hedge=OFF, rho=30, k=5, n=3000)
    assert bare(view["note"]).count("22.4 µs") == 1  # the mean of its calls


def test_unmeasured_calls_can_not_be_chosen(page):
    page.predict("act1", "ms1")
    complete(page.reload().lab)
    leaf = next(dial for dial in page.reload().piece("act2.instrument").spec["dials"] if dial["id"] == "leaf")
    assert leaf["value"] == "exponential"
    assert page.turn("act2", leaf="here")["error"]["dial"] == "leaf"


def test_the_design_has_the_fields_that_later_labs_read(page):
    complete(page.lab)
    page.reload().save()
    saved = page.ledger.design(SLUG)
    wanted = {"shards", "utilisation", "hedge_quantile", "hedge_budget", "page_p99_s", "leaf_percentile", "requests_counted",
              "constraint_hit", "here_open_p99_s", "here_closed_p99_s", "act1_prediction", "act2_prediction", "context"}  # fmt: skip
    assert wanted <= set(saved) and saved["shards"] == 100 and saved["constraint_hit"] is True and saved["act1_correct"] is True


@pytest.mark.parametrize(("load", "offered"), [(0.42, 40), (0.93, 95), (0.02, 10), (1.2, None), (None, None)])
def test_lab_13_offers_its_load_where_it_has_one(tmp_path, load, offered):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append("lab_13_line", "design", {"policy": "waiting", "rate": 1000.0, "load": load})
        page = Page(ledger, SLUG)
        complete(page.lab)
        page.reload()
        rho = next(dial for dial in page.piece("act2.instrument").spec["dials"] if dial["id"] == "rho")
        assert rho["value"] == 70
        offers = page.piece("act2.instrument").spec["offers"]
        assert [offer["dials"]["rho"] for offer in offers] == ([offered] if offered else [])
        assert all("had to become" in offer["note"] for offer in offers)


def test_a_copy_is_sent_at_the_p95_of_the_law():
    """M/M/1 at 70% with 10 ms of work: −ln 0.05 · 10 ms / 0.3."""
    assert Fleet(hedge="all").delay == pytest.approx(-math.log(0.05) * 0.010 / 0.3)


def test_without_copies_the_page_is_the_exact_law():
    """One shard's line is M/M/1: P(slower than t) = exp(-(1 - rho) t), in services. A single run of 29,956 requests says 331 ms for 307."""
    case = Fleet(rho=0.7)
    exact = -math.log(1 - 0.99 ** (1 / case.k)) / (1 - case.rho) * case.service
    assert case.page_p99 == case.plain_p99 == pytest.approx(exact)
    assert case.leaf_p99 == pytest.approx(math.log(100) / 0.3 * case.service)
    t, share = min(figures.tail_of(case.law, case.service, case.k), key=lambda point: abs(point[1] - 1))
    assert share == pytest.approx(100 * (1 - (1 - math.exp(-0.3 * t / case.service)) ** case.k))
    assert "exact" in exactness(case)


def test_with_copies_the_page_is_the_law_of_a_large_fleet():
    """By hand: c = e^(-(0.3 - 0.7 c) d) copies per request make a load of 0.7 (1 + c), and a page is late where both answers are."""
    case = Fleet(hedge=BUDGET, quantile=0.99, budget=0.02)
    d, c = -math.log(0.01) / 0.3, 0.0
    for _ in range(200):
        c = math.exp(-(0.3 - 0.7 * c) * d)
    late = (1 - 0.99 ** (1 / case.k)) ** 0.5  # of each answer, counted from the middle between the two
    exact = (d / 2 - math.log(late) / (0.3 - 0.7 * c)) * case.service
    assert case.page_p99 == pytest.approx(exact, rel=1e-6) and case.copies == pytest.approx(c, rel=1e-6)
    assert "exact" in exactness(case) and case.in_time


def test_a_verdict_does_not_hang_on_a_draw(monkeypatch):
    """What the goal allows is judged by laws alone: with every stream silenced, the verdicts come out."""

    def no_draw(*_, **__):
        raise AssertionError("a draw")

    monkeypatch.setattr(fleet, "hedging_run", no_draw)
    for case in (Fleet(), Fleet(hedge=ALL), Fleet(hedge=BUDGET), Fleet(hedge=CALLED_BACK), Fleet(hedge=BUDGET, quantile=0.99, budget=0.02)):
        assert hit(verdicts.LIMITS, case).name in ("stuck", "late", "works")


def test_copies_that_tip_by_themselves_have_no_page_and_are_saved_as_none(bench):
    view = bench.turn("act2", hedge=ALL, rho=80, k=100)
    assert cards(view)["Page's P99"] == "never" and "never catch up" in figure(view, "tails")["title"]
    assert bench.lab.readouts["act2"]["page_p99_s"] is None
    bench.turn("act2", rho=70)


def test_service_times_without_a_law_are_simulated_and_the_card_says_how_far_another_run_may_be():
    case = replace(SMALL, rho=0.7, leaf="two", hedge=BUDGET, quantile=0.95, budget=0.05, k=10)
    low, high = case.spread
    assert case.law is None and low < case.page_p99
    assert high is None and exactness(case).endswith("or more") and exactness(case).startswith("simulated")
    low, high = replace(case, k=1).spread
    assert low < replace(case, k=1).page_p99 < high


def test_the_crowd_is_as_many_as_the_triangle_says(bench):
    view = bench.piece("act1.instrument").view
    (crowd,) = view["motions"]
    assert crowd["title"].split(" users")[0] == figure(view, "triangle")["title"].split(" users")[0] and crowd["caption"]
    assert bench.send("act1.instrument", dials={**bench.piece("act1.instrument").state["dials"], "stopped": 0})["motions"] == []
