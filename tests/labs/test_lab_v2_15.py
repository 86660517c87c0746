"""Lab V2-15 at the level of what it shows and what the ledger holds; every state of Act II from both sides."""

from dataclasses import replace

import measured
import pytest
from headless import Page, bare, cards, figure

from ironlaw import claims
from ironlaw.engine import rebound
from ironlaw.engine.energy import embodied_share
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_15_jevons import fleets, story
from ironlaw.labs.lab_v2_15_jevons.act1 import instrument, setting
from ironlaw.labs.lab_v2_15_jevons.act2 import plan, verdict
from ironlaw.ledger import open_ledger
from ironlaw.measure.experiments import energy_trial
from ironlaw.measure.rows import case_row, figure_row
from ironlaw.systems.limits import hit

SLUG = "lab_v2_15_jevons"
TONES = {limit.name: limit.tone for limit in verdict.LIMITS}


def state_of(one):
    return hit(verdict.LIMITS, one).name


def first_act(page, option="more", answer="batching"):
    page.predict("act1", option, 4)
    page.reload()
    page.reflect("act1", answer)
    return page.reload()


@pytest.fixture
def page(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        yield Page(ledger, SLUG)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The revealed lab, for tests that only turn dials."""
    with open_ledger(tmp_path_factory.mktemp("shared") / "ledger.db") as ledger:
        page = first_act(Page(ledger, SLUG))
        page.predict("act2", "batch", 2)
        yield page.reload()


def start_of(page, act):
    return {dial["id"]: dial["value"] for dial in page.piece(f"{act}.instrument").spec["dials"]}


def test_nothing_gives_an_answer_away(page):
    for sealed in ("63.8", "4.27", "128 %", "997", "623", "Backfires from"):
        assert sealed not in page.text, f"{sealed} is on the page before the first prediction"
    assert page.parts["act1_reveal"] is None and page.piece("act1.instrument").view.get("figures") in (None, [])


def test_the_keys_are_the_storys_own_cases(page):
    """A key writes its premises as numbers; the words take them from [given]."""
    case = setting.story()
    assert page.lab.question("act1").answer == pytest.approx(100 * case.energy(case.high)) == pytest.approx(63.80, abs=0.01)
    carbon = {name: one.tonnes for name, one in plan.changes().items()}
    assert page.lab.question("act2").answer == min(carbon, key=carbon.get) == "wait"
    assert sorted(carbon.values())[1] / min(carbon.values()) > 1.05 and carbon["batch"] > 1.2 * plan.premise().tonnes
    made = embodied_share(1e3 * story.given("embodied"), 700, story.given("hydro"), 3, 0.6)
    assert page.lab.question("act2_reflection").answer == pytest.approx(100 * made) == pytest.approx(44.2, abs=0.05)


# --- Act I


def test_the_story(bench):
    view = bench.piece("act1.instrument").view
    shown = cards(view)
    assert shown["Energy, of before"] == "63.8 %" and shown["Price, of before"] == "85 %" and shown["Backfires from"] == "4.27"
    change = figure(view, "change")
    rules = {mark["id"]: mark["x"] for mark in change["marks"] if mark["type"] == "rule"}
    assert rules == {"prediction": 141, "truth": pytest.approx(63.8, abs=0.01)}
    ends = {mark["y"]: mark["x"] for mark in change["marks"] if mark["type"] == "point"}
    assert ends["demand stays"] == 50 and ends["as set"] == pytest.approx(63.8, abs=0.01)
    assert ends["energy is the whole price"] == ends["machine time falls, too"] == pytest.approx(141.4, abs=0.05)


@pytest.mark.parametrize(
    ("dials", "state"),
    [({}, "less"), ({"share": 100}, "depends"), ({"share": 100, "low": 1.2}, "backfires"),
     ({"cost": 50}, "depends"), ({"share": 100, "passed": 0}, "less"),
     ({"share": 100, "low": 1.6, "high": 0.2}, "depends")],
)  # fmt: skip
def test_three_states_of_a_band(bench, dials, state):
    """A band whose ends are crossed is the same band."""
    values = {**start_of(bench, "act1"), **dials}
    assert hit(instrument.LIMITS, setting.setting_of(bench.lab, values)).name == state
    view = bench.turn("act1", **values)
    assert bench.shows(f"act1.{state}", view["banner"]["text"])
    bench.turn("act1", **start_of(bench, "act1"))


def test_the_boundary_is_the_law(bench):
    plane = figure(bench.turn("act1", **{**start_of(bench, "act1"), "gain": 4, "passed": 80}), "plane")
    line = next(mark for mark in plane["marks"] if mark["id"] == "boundary")["points"]
    assert len(line) > 20
    for share, limit in line:
        assert limit == pytest.approx(rebound.threshold(4, share / 100, 0.8)) and limit <= 100
    bench.turn("act1", **start_of(bench, "act1"))
    plane = figure(bench.piece("act1.instrument").view, "plane")
    dots = {mark["name"]: (mark["x"], mark["y"]) for mark in plane["marks"] if mark["type"] == "point"}
    assert dots["as set"] == (30, 1.5) and dots["world, 2010–2018"] == (100, pytest.approx(1.03, abs=5e-3))
    assert dots["rented"][0] == pytest.approx(2.63, abs=0.01) and dots["training"][0] == pytest.approx(2.89, abs=0.01)


def test_every_dial_of_act_one_changes_what_is_seen(bench):
    start = start_of(bench, "act1")
    moves = {"gain": 4, "low": 0.1, "high": 3, "by": "bill", "share": 60, "passed": 50, "cost": 50}
    billed = {"watts": 1200, "pue": 1.6, "cents": 40, "hour": 0.5}
    assert set(moves) | set(billed) == set(start)
    for base, turned in (({}, moves), ({"by": "bill"}, billed)):
        still = str(bench.turn("act1", **{**start, **base})["figures"])
        for dial, value in turned.items():
            assert str(bench.turn("act1", **{**start, **base, dial: value})["figures"]) != still, dial
    bench.turn("act1", **start)


def test_extremes_are_drawn_on_axes_that_hold_still(bench):
    start, axes = start_of(bench, "act1"), set()
    for gain, low, high, share, passed, cost in (
        (1.1, 0, 0, 0, 0, 150),
        (100, 5, 5, 100, 100, 1),
        (100, 0, 5, 0, 100, 100),
        (2, 0, 5, 100, 100, 150),
    ):
        view = bench.turn("act1", **{**start, "gain": gain, "low": low, "high": high, "share": share, "passed": passed, "cost": cost})
        assert not view.get("error")
        axes.add(str([(figure(view, name)["x"], figure(view, name)["y"]) for name in ("change", "plane", "by-gain", "by-batch")]))
    assert len(axes) == 1
    bench.turn("act1", **start)


def test_contexts(bench):
    gains = {}
    for slug in (fleets.RENTED, fleets.TRAINING, fleets.WORLD, fleets.SAVED, fleets.OWN):
        bench.send("context", value=slug)
        gains[slug] = (start_of(bench, "act1"), cards(bench.piece("act1.instrument").view)["At the meter"])
        assert bench.shows(
            f"act1.{slug}" if slug not in (fleets.OWN, fleets.SAVED) else "act1.band", bench.piece("act1.instrument").view["note"]
        )
    world, energy_of_world = gains[fleets.WORLD]
    assert (world["gain"], world["share"], world["high"]) == (6.15, 100, 1.03) and energy_of_world == "205 TWh"
    assert gains[fleets.TRAINING][1] == "14.1 GWh" and gains[fleets.RENTED][0]["by"] == setting.BILL
    assert gains[fleets.SAVED] == gains[fleets.OWN]  # nothing was saved yet


@pytest.mark.parametrize("option", ["half", "less", "same", "more"])
def test_every_answer_of_act_one_is_met(page, option):
    page.predict("act1", option, 3)
    text = page.reload().parts["act1_reveal"].text
    assert page.shows(f"act1.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "less")


# --- Act II

B200 = {"server": "70b-b200-256", "servers": 65, "passed": 0.25}
# state -> (a setting that shows it, the same with one dial turned)
BOTH_SIDES = {
    "slo": ({"server": "70b-512"}, {"limit": 0.4}),
    "short": ({"servers": 80}, {"servers": 120}),
    "power": ({"region": plan.HYDRO}, {"region": plan.GAS}),
    "idle": ({**B200, "servers": 240}, {"servers": 65}),
    "backfire": ({**B200, "passed": 1.0, "servers": 150}, {"high": 0.9}),
    "over_budget": ({}, {"requests": 500.0, "servers": 70}),
    "works": (B200, {"region": plan.COAL}),
}


def case(**settings):
    return replace(plan.premise(), low=0.5, **settings)


@pytest.mark.parametrize("state", BOTH_SIDES)
def test_every_state_is_reached_from_both_sides(bench, state):
    there, away = BOTH_SIDES[state]
    assert state_of(case(**there)) == state != state_of(case(**{**there, **away}))
    one = case(**there)
    shown = settings.verdict(bench.lab, "act2", verdict.LIMITS, one, **verdict.hint(one, moving=False))
    assert shown["tone"] == TONES[state] and bench.shows(f"act2.{state}", shown["text"])


def test_a_sweep_of_the_dials_meets_every_state(bench):
    """Inside the dials' own ranges: the values are those that the instrument gets."""
    start = start_of(bench, "act2")
    assert state_of(plan.plan_of(start)) == "over_budget"
    seen = {
        state_of(plan.plan_of({**start, "server": server, "servers": servers, "region": region, "passed": passed}))
        for server in plan.SERVERS
        for servers in (20, 65, 140, 250)
        for region in plan.REGIONS
        for passed in (0, 25, 100)
    }
    assert seen == set(BOTH_SIDES)


@pytest.mark.parametrize("failing", [there for there, _ in BOTH_SIDES.values() if there != B200])
def test_what_would_do_does(failing):
    cures = verdict.fixes(case(**failing))
    assert cures and all(state_of(changed) == "works" for changed in cures.values())


def test_dearer_tokens_are_judged_where_most_are_asked_for():
    """Batches of eight make a token five times as dear: demand is largest at the lower end of the band."""
    dear = case(server="70b-8")
    assert dear.fleet.price > 5 and (dear.most, dear.least) == (0.5, 1.2)
    assert dear.tonnes == dear.carbon(0.5).total / 1e6 > dear.carbon(1.2).total / 1e6
    assert state_of(dear.sized) != "backfire"


def test_every_dial_of_act_two_changes_what_is_seen(bench):
    start = start_of(bench, "act2")
    moves = {
        "server": "70b-b200-256", "servers": 200, "region": "coal", "passed": 40, "low": 0.1, "high": 0.6, "deferrable": 40, "pue": 1.6,
        "years": 8, "limit": 50, "requests": 600,
    }  # fmt: skip
    assert set(moves) == set(start)
    base = {"server": "70b-512", "limit": 400}
    still = bench.turn("act2", **{**start, **base})
    for dial, value in moves.items():
        view = bench.turn("act2", **{**start, **base, dial: value})
        assert (view["figures"], view["cards"], view["banner"]) != (still["figures"], still["cards"], still["banner"]), dial
    assert bench.shows("act2.smaller", bench.turn("act2", **{**start, "server": "8b-64"})["note"])
    bench.turn("act2", **start)


def test_the_pictures_of_act_two(bench):
    view = bench.turn("act2", **{**start_of(bench, "act2"), "deferrable": 40})
    bars = [mark for mark in figure(view, "carbon")["marks"] if mark["type"] == "bar" and mark["y"] == "before"]
    assert max(mark["x1"] for mark in bars) == pytest.approx(plan.premise().tonnes, rel=1e-3)
    limits = {mark["name"]: mark["x"] for mark in figure(view, "levers")["marks"] if mark["type"] == "bar"}
    assert limits["70B, 4 H100, 512 at once"] == pytest.approx(0.744, abs=5e-3) and limits["70B, 2 B200, 256 at once"] == pytest.approx(
        1.0, abs=0.01
    )
    load = next(mark for mark in figure(view, "hours")["marks"] if mark["id"] == "line-load")["points"]
    assert sum(value for _, value in load) / len(load) == pytest.approx(100) and min(value for _, value in load) == pytest.approx(60)
    bench.turn("act2", **start_of(bench, "act2"))


@pytest.mark.parametrize("option", ["batch", "cooling", "wait", "keep"])
def test_every_answer_of_act_two_is_met(page, option):
    first_act(page)
    page.predict("act2", option, 3)
    text = page.reload().parts["act2_reveal"].text
    assert page.shows(f"act2.feedback.{option}", text) and ("Your prediction holds" in bare(text)) == (option == "wait")


# --- keys, the ledger, the learner's own machine


def test_the_keys_move_with_the_laws(page, monkeypatch):
    names = ("act1", "act1_reflection", "act2", "act2_reflection")
    assert [page.lab.question(name).right.id for name in names] == ["less", "batching", "wait", "much"]
    law, fleet = rebound.energy, claims.NAMESPACE["fleet_year"]
    monkeypatch.setitem(claims.NAMESPACE, "rebound_energy", lambda gain, elasticity, share, *more: law(gain, elasticity, 1.0, *more))
    assert page.lab.question("act1").right.id == "more"
    monkeypatch.setitem(claims.NAMESPACE, "fleet_year", lambda *args, **more: fleet(*args, **{**more, "night": 1e-3, "sun": 0.0}))
    assert page.lab.question("act2").right.id == "keep"  # on a grid without carbon only the making is left
    monkeypatch.setitem(claims.NAMESPACE, "embodied_share", lambda made, power, grams, *more: embodied_share(made, power, 820, *more))
    assert page.lab.question("act2_reflection").right.id == "two"


def test_the_ledger_keeps_what_was_designed(page):
    first_act(page, "less")
    page.predict("act2", "wait", 3)
    page.reload().reflect("act2", "much")
    page.reload()
    page.turn("act2", server="70b-b200-256", servers=65, passed=25)
    page.save()
    design = page.ledger.design(SLUG)
    assert (design["machine"], design["model"], design["limit"], design["servers"], design["devices"]) == (
        "b200",
        "llama3_70b",
        256,
        65,
        130,
    )
    assert design["constraint_hit"] is None and design["tonnes"] < 400 and design["energy_ratio"] == pytest.approx(0.638, abs=1e-3)
    assert (
        design["joules_per_token"] == pytest.approx(0.3614, rel=1e-3)
        and design["kwh_year"] > 1e5
        and design["tonnes_low"] <= design["tonnes"]
    )
    assert (design["act1_prediction"], design["act1_correct"], design["act2_correct"]) == (64, True, True)


def test_a_server_of_the_lab_before_is_taken_up(page):
    note = first_act(page)
    note.predict("act2", "wait", 3)
    page.reload().send("context", value="saved")
    assert page.shows("act1.saved_open", page.piece("act1.instrument").view["note"])
    page.ledger.append(fleets.SERVING, "design", {"machine": "a100_80gb_sxm", "devices": 8, "rate": 2.0})
    page.reload()
    page.send("context", value="own")
    page.send("context", value="saved")
    assert page.shows("act1.saved", page.piece("act1.instrument").view["note"]) and start_of(page, "act1")["watts"] == 400
    assert start_of(page, "act2")["requests"] == 400 and page.shows("act2.saved", page.piece("act2.instrument").view["note"])


def rows(counter):
    """A row takes 50 mJ alone and 2 mJ among 64; seconds fall by 32."""
    about = {"zones": ["package-0"] if counter else [], "why": "" if counter else "there is no RAPL counter"}
    times = [
        case_row(energy_trial.TIME, "a batch", {"batch": batch, **about}, measured.timing(seconds))
        for batch, seconds in ((1, 1e-3), (64, 2e-3))
    ]
    if not counter:
        return times
    figures = [
        (energy_trial.IDLE, 0, 10.0, "W"),
        (energy_trial.JOULES, 1, 0.05, "J"),
        (energy_trial.JOULES, 64, 0.002, "J"),
        (energy_trial.POWER, 64, 80.0, "W"),
    ]
    return times + [figure_row(name, name, value, value, value, unit, 5, batch=batch) for name, batch, value, unit in figures]


def test_joules_of_the_learners_own_machine(page, monkeypatch):
    monkeypatch.setitem(measured.ROWS, "energy", rows(True))
    measured.keep(page.ledger, SLUG, "energy")
    first_act(page.reload())
    shown = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    values = page.slots("act1.here_energy", shown)
    assert (values["less"], values["faster"], values["idle"]) == ("25 ×", "32 ×", "10 W")
    here = figure(page.piece("act1.instrument").view, "here")
    assert [(mark["x"], mark["y"]) for mark in here["marks"] if mark["type"] == "point"] == [(1, 0.05), (64, 0.002)]
    assert "2.56 ×" in bare(page.parts["act1_claims"].text)


def test_a_machine_without_counters_says_so(page, monkeypatch):
    monkeypatch.setitem(measured.ROWS, "energy", rows(False))
    measured.keep(page.ledger, SLUG, "energy")
    first_act(page.reload())
    shown = " ".join(item["result"] for item in page.piece("act1.measure").view["items"])
    values = page.slots("act1.here_no_counter", shown)
    assert values["why"] == "there is no RAPL counter" and values["faster"] == "32 ×" and values["ours"] == "31.4 ×"
    view = page.piece("act1.instrument").view
    assert "here" not in [each["id"] for each in view["figures"]]
    points = [mark for mark in figure(view, "by-batch")["marks"] if mark["type"] == "point"]
    assert "seconds instead of joules" in bare(page.parts["act1_claims"].text)
    assert len(points) == 7  # what others published stands in for it
