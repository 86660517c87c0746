"""A whole system: its waterfall and readouts beside the labs' own, constraints from both sides, fixes against brute force, levers."""

import math
from dataclasses import replace

import pytest
from how_thorough import RELEASE

from ironlaw.engine.cluster.failures import goodput, optimum
from ironlaw.engine.levers import LEAST
from ironlaw.errors import BadValue
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import Case
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import Plan
from ironlaw.labs.lab_v2_17_synthesis.starts import FIELDS, start
from ironlaw.registry import machines
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import about, runs, unit_between_failures
from ironlaw.systems import faster_machine
from ironlaw.systems.faster_machine import faster
from ironlaw.systems.serving.served_cases import served
from ironlaw.systems.training import shard_times
from ironlaw.systems.training.layout_steps import training_job
from ironlaw.systems.whole import LIMITS, Design, Faster, broken, evaluate, halls, margins, whole_training
from ironlaw.systems.whole import design as premises
from ironlaw.systems.whole import report as reports
from ironlaw.systems.whole import whole_levers as system_levers
from ironlaw.systems.whole.whole_search import DIALS, MOVES, fix, nearest, snapped, turned

MEETS = Design(
    pipeline=4, virtual=2, thin=2.0, scattered=0.0, spares=1, budget=512, retries=1, hall="new", noise=0.7,
)  # fmt: skip
# constraint -> what of MEETS to change so that it alone breaks
ALONE = {
    "memory": {"tensor": 4}, "days": {"gpus": 2048}, "goodput": {"far_every": 10_800.0}, "drain": {"saving": "async", "far_every": 30.0},
    "ports": {"thin": 1.0}, "ttft": {"replicas": 2}, "tbt": {"budget": 2048}, "availability": {"spares": 0},
    "hours": {"pipeline": 8, "scattered": 0.3, "replicas": 8, "spares": 3}, "energy": {"pipeline": 8, "scattered": 0.3, "hall": "old"},
    "carbon": {"hall": "usual"}, "epsilon": {"noise": 0.6},
}  # fmt: skip


def test_some_design_meets_all_constraints_and_the_start_does_not():
    assert broken(evaluate(MEETS)) == () and broken(evaluate(Design())) != ()
    assert all(room >= 0 for room in margins(evaluate(MEETS)).values())


@pytest.mark.parametrize("constraint", LIMITS)
def test_each_constraint_can_be_broken_alone(constraint):
    assert broken(evaluate(replace(MEETS, **ALONE[constraint]))) == (constraint,)


@pytest.mark.parametrize("changes", [{}, {"tensor": 4, "pipeline": 8, "virtual": 1}, {"recompute": "full"}, {"nics": 2, "budget": 2048}])
def test_the_waterfall_multiplies_to_what_is_useful_and_its_factors_are_the_labs_own(changes):
    design = replace(MEETS, **changes)
    report = evaluate(design)
    product = report.peak * math.prod(factor.share for factor in report.factors)
    assert product == pytest.approx(report.useful, rel=1e-12)
    shares = {factor.name: factor.share for factor in report.factors}
    at = replace(box("grand_teton_h100"), nics=design.nics)
    layout = Case(
        at, "llama3_70b", design.gpus, tensor=design.tensor, pipeline=design.pipeline, virtual=design.virtual, recompute=design.recompute,
        nics=design.nics,
    ).step  # fmt: skip
    parts = [factor.share for factor in report.factors[:4]]
    assert math.prod(parts) == pytest.approx(layout.speed.mfu, rel=1e-12)
    assert shares["pipeline bubble"] == pytest.approx(1 - layout.time.bubble / layout.time.total, rel=1e-12)
    parameters = float(training_job("llama3_70b", "grand_teton_h100", 2048, 8192).shape.parameters)
    saving = Plan(design.gpus, unit_between_failures("llama3_2024"), parameters, storage=premises.STORAGE, host=at.bridge.achieved,
                  far_every=design.far_every, away=0.0)  # fmt: skip
    assert shares["failures and saves"] == pytest.approx(saving.goodput, rel=1e-12)
    rate = premises.LOAD * (1 + premises.FAILING)
    outcome = served("llama3_70b", "h100_sxm", 4, rate, replicas=4, budget=design.budget)
    if design.most >= 128:
        late = sum(wait > 2.0 for wait in outcome.waits) / len(outcome.waits)
        assert report.values["first"] == pytest.approx(1 - late, abs=0.01)
    assert "first tokens in time" not in shares and report.useful == pytest.approx(report.values["tokens_per_s"] * saving.goodput)


def test_a_crowded_spine_slows_the_ports_and_a_placed_ring_does_not():
    assert whole_training.crowding(4096, 7.0, 0.0) == pytest.approx(1.0) and whole_training.crowding(4096, 1.0, 1.0) == pytest.approx(1.0)
    assert whole_training.crowding(4096, 7.0, 1.0) > 3 * whole_training.crowding(4096, 1.5, 1.0) > 3.0
    assert evaluate(replace(MEETS, thin=7.0, scattered=1.0)).values["days"] > evaluate(MEETS).values["days"]


def test_hours_energy_and_carbon_by_hand():
    report, hall = evaluate(MEETS), halls()["new"]
    hours = 4096 * report.values["days"] * 24 + 4 * 5 * 8766
    assert report.values["hours"] == pytest.approx(hours) and report.values["energy"] == pytest.approx(hours * 3600 * 700 * 1.1)
    assert report.values["carbon"] == pytest.approx(hours * 0.7 * 1.1 * 394) and hall.grams_per_kwh == 394


def test_availability_by_hand():
    one = (unit_between_failures("llama3_2024") / 4) / (unit_between_failures("llama3_2024") / 4 + 86400)
    alone = evaluate(replace(MEETS, spares=0)).values["availability"]
    assert alone == pytest.approx(one**4 * (1 - 0.002**2))
    down = 0.9 * (1 - one)
    rest = sum(math.comb(5, k) * (1 - down) ** k * down ** (5 - k) for k in range(4))
    assert evaluate(MEETS).values["availability"] == pytest.approx((1 - 0.1 * (1 - one)) * (1 - rest) * (1 - 0.002**2), rel=1e-9)


def test_copies_shorten_the_wait_and_are_load():
    """With room for them a tenth of copies shortens the wait; on servers that are busy already, a fifth of them makes it longer."""
    roomy = replace(MEETS, replicas=2 * MEETS.replicas)
    plain, hedged = evaluate(roomy).values, evaluate(replace(roomy, hedge=0.9)).values
    assert hedged["ttft"] < plain["ttft"] and hedged["availability"] == plain["availability"]
    assert evaluate(replace(MEETS, hedge=0.8)).values["ttft"] > evaluate(MEETS).values["ttft"]


def test_what_does_not_divide_is_said():
    report = evaluate(replace(MEETS, pipeline=16, virtual=4))
    assert report.refusal and math.isinf(report.values["days"]) and "days" in broken(report)
    assert report.factors[0].name == "failures and saves"


# --- ways out


@pytest.mark.parametrize("constraint", ["days", "goodput", "ports", "tbt", "availability", "energy", "carbon", "epsilon"])
def test_the_cheapest_fix_fixes_and_breaks_nothing(constraint):
    design = replace(MEETS, **ALONE[constraint])
    dial, value = fix(design, constraint)
    assert broken(evaluate(turned(design, dial, value))) == ()


def test_no_fix_means_that_no_single_dial_does():
    design = replace(MEETS, spares=0, retries=0)
    assert broken(evaluate(design)) == ("availability",) and fix(design, "availability") is None
    for dial, stops in DIALS.items():
        if dial in ("weights", "cache"):
            continue  # a table of steps for each; they don't touch what is up
        some = stops if RELEASE else {*stops[::5], stops[-1]}
        for value in some:
            report = evaluate(turned(design, dial, value))
            assert report.refusal or broken(report), (dial, value)


@pytest.mark.parametrize("constraint", ["ports", "epsilon", "goodput", "drain"])
def test_dials_that_are_not_tried_do_not_move_the_constraint(constraint):
    start_at = evaluate(MEETS).values[constraint]
    for dial in set(DIALS) - set(MOVES[constraint]) - {"group", "weights", "cache"}:
        for value in (DIALS[dial][0], DIALS[dial][-1]):
            assert evaluate(turned(MEETS, dial, value)).values[constraint] == pytest.approx(start_at, rel=0.02), (dial, value)


@pytest.mark.parametrize("design", [Design(), replace(MEETS, hall="usual", spares=0), MEETS], ids=["house", "two broken", "meets"])
def test_the_nearest_design_meets_all(design):
    found = nearest(design)
    assert found is not None and broken(evaluate(found)) == ()
    assert found == design or broken(evaluate(design))


# --- levers


def test_levers_differ_from_design_to_design():
    best = system_levers.best
    assert best(MEETS) == "flops"
    assert best(replace(MEETS, gpus=8192, nics=1, thin=7.0, scattered=1.0)) == "nics"
    assert best(replace(MEETS, gpus=8192, far_every=43_200.0)) == "mtbf"


def test_levers_of_all_rates_of_a_step_add_up_to_minus_one():
    """Of arithmetic, memory and wires; what the step waits for besides is starts, which no rate shortens."""
    design = replace(MEETS, far_every=60.0)
    bars = {bar.name: bar.lever for bar in system_levers.tornado(design)}
    assert -1.0 < sum(bars[name] for name in ("flops", "hbm", "nvlink", "nics")) < -0.9
    assert bars["host"] == 0  # a save that waits for the file system does not go over the host's memory


def test_a_faster_memory_in_the_registry_does_what_the_bar_promised(monkeypatch):
    bar = next(bar for bar in system_levers.tornado(MEETS) if bar.name == "hbm")
    now = evaluate(MEETS).values["days"]
    real = machines.hardware
    monkeypatch.setattr(shard_times, "faster", lambda name, flops=1.0, bandwidth=1.0: faster(name, flops, 1.1 * bandwidth))
    for cached in (shard_times._layer, shard_times._update, whole_training.step, reports._evaluate):
        cached.cache_clear()
    changed = evaluate(MEETS).values["days"]
    for cached in (shard_times._layer, shard_times._update, whole_training.step, reports._evaluate):
        cached.cache_clear()
    assert changed == pytest.approx(bar.high, rel=1e-9) and changed < now and real is faster_machine.hardware
    assert changed / now - 1 == pytest.approx(bar.lever * 0.1, abs=0.002)


def test_faster_arithmetic_takes_its_power_along():
    base, changed = machines.hardware("h100_sxm"), faster("h100_sxm", flops=1.2, bandwidth=1.1)
    assert changed.peak("bf16") == pytest.approx(1.2 * base.peak("bf16")) and changed.power == pytest.approx(1.2 * base.power)
    assert changed.bandwidth == pytest.approx(1.1 * base.bandwidth) and faster("h100_sxm") is base
    times = [evaluate(MEETS, Faster(flops=x)).values["days"] for x in (0.8, 1.0, 1.25)]
    assert times[0] > times[1] > times[2]


# --- where it starts


def test_an_empty_ledger_starts_at_the_house_and_designs_are_taken_up():
    assert start({}).design == Design() and start({}).given == {}
    given = start(
        {
            "lab_v2_05_parallelism": {"devices": 8192, "tensor": 8, "pipeline": 4, "context_parallel": 1, "virtual": 2, "zero": 2},
            "lab_v2_07_checkpoint": {"saving": "async", "near": "host", "near_interval_s": 118.0, "far_interval_s": 600.0},
            "lab_v2_10_kv_serving": {"devices": 8, "budget": 512, "weights": "", "most": 100},
        }
    )
    assert (given.design.gpus, given.design.near_every, given.design.far_every) == (8192, 120.0, 900.0)
    assert (given.design.group, given.design.budget, given.design.weights, given.design.most) == (8, 512, "bf16", 128)
    assert given.given["near"] == "lab_v2_07_checkpoint" and given.given["weights"] == "lab_v2_10_kv_serving" and "hall" not in given.given
    assert start({"lab_v2_05_parallelism": {"devices": 16384, "tensor": 1, "pipeline": 1}}).design.gpus == Design().gpus  # it starves
    assert broken(evaluate(given.design))


@pytest.mark.parametrize("value", [None, True, "much", math.inf, [1]])
def test_what_no_dial_has_is_left_to_the_house(value):
    designs = {lab: {name: value for of, name in FIELDS.values() if of == lab} for lab, _ in FIELDS.values()}
    assert start(designs).design == Design()


def test_stops():
    assert snapped("gpus", 5000) == 4096 and snapped("saving", "async") == "async" and snapped("saving", 3) is None
    assert LIMITS["goodput"].kind == LEAST


# --- Llama 3 beside the model


def test_llama_three():
    run, card = runs("llama3_2024")[1], about("llama3_2024")
    hours = 3.8e25 / 400e12 / card["interruptions"]["effective"] / 3600
    assert hours == pytest.approx(30.84e6, rel=0.2) and run.layout.devices == 16384
    between = unit_between_failures("llama3_2024") / 16384
    assert between / 3600 == pytest.approx(3.09, abs=0.01)
    at_best = [float(goodput(optimum(save, between), save, 300.0, between).goodput) for save in (10.0, 60.0)]
    assert at_best[0] > card["interruptions"]["effective"] > at_best[1]  # saves of ten seconds do, saves of a minute would not


def test_devices_that_fill_no_nodes_are_refused():
    with pytest.raises(BadValue):
        evaluate(replace(MEETS, gpus=4100))
