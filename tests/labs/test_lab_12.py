"""Lab 12 at the level of what it shows and what the ledger holds."""

import math
from dataclasses import replace

import pytest
from headless import bare, cards, figure, turned
from measured import keep
from stand_in import StandIn

from ironlaw.claims import NAMESPACE, row
from ironlaw.engine.scaling.amdahl import amdahl, halvings, karp_flatt
from ironlaw.engine.scaling.stages import in_turn, pipelined
from ironlaw.labs.lab_12_amdahl import passes
from ironlaw.labs.lab_12_amdahl.act2 import challenge, local_runs
from ironlaw.labs.lab_12_amdahl.act2.job import MOST, Job, Story, cheapest
from ironlaw.labs.lab_12_amdahl.act2.verdict import LIMITS
from ironlaw.labs.lab_12_amdahl.passes import CPU, DEVICE, GPU, HOST, KINDS, measured
from ironlaw.systems.limits import hit

SLUG = "lab_12_amdahl"
SAID = {"act1": "x11", "act1_reflection": "x1_8", "act2": "x58"}
STORY = Story(100.0, 40.0, 500.0)
JOB = Job(story=STORY, workers=64, known="share", pair=2.0, share=1 / 9, target=12.0, price=1.0, week_price=5000.0)


def state(job):
    return hit(LIMITS, job).name


def timed(busy_s):
    """A row of evidence with figures of the test's own."""
    return StandIn(value={"busy_s": busy_s, "wall_s": 1.0}.__getitem__)


def before(ledger):
    """Both experiments were run."""
    keep(ledger, SLUG, "stages", "workers")


# --- locked


# --- keys


def test_the_keys_are_the_laws_for_the_questions_own_cases(bench):
    eager = row("h200_sxm/models", workload="resnet50", batch=1, mode="eager")
    rest = 1 - eager.value("busy_s") / eager.value("wall_s")
    assert bench.lab.question("act1").answer == pytest.approx(1 / rest) and bench.lab.question("act1").right.id == "x1"
    assert bench.lab.question("act1_reflection").right.id == "x1_25"
    assert bench.lab.question("act2").answer == pytest.approx(64 / (1 + 63 / 9)) and bench.lab.question("act2").right.id == "x8"
    assert bench.lab.question("act2_reflection").right.id == "overhead"


@pytest.mark.parametrize(
    ("question", "names", "right"),
    [
        # the GPU at work for nearly all of the pass: turning the share over is near, and then the factor itself
        ("act1", {"row": lambda *_, **about: timed(0.5)}, "x2"),
        ("act1", {"row": lambda *_, **about: timed(0.9)}, "x11"),
        ("act1", {"row": lambda *_, **about: timed(0.999)}, "x1000"),
        # stages that take turns after all
        ("act1_reflection", {"pipelined": in_turn}, "x1_8"),
        ("act1_reflection", {"pipelined": lambda times, factors: pipelined(times[::-1], factors)}, "x1"),
        ("act1_reflection", {"pipelined": lambda times, factors: pipelined((1, times[1]), factors)}, "x5"),
        # other shares behind two workers
        ("act2", {"karp_flatt": lambda *_: 0.0}, "x58"),
        ("act2", {"karp_flatt": lambda *_: 1 / 60}, "x32"),
        ("act2", {"karp_flatt": lambda *_: 0.6}, "x2"),
        ("act2_reflection", {"karp_flatt": lambda speedup, n: 0.1}, "noise"),
        ("act2_reflection", {"karp_flatt": lambda speedup, n: 1 / n}, "better"),
    ],
)  # fmt: skip
def test_a_key_moves_with_its_premise(bench, monkeypatch, question, names, right):
    for name, value in names.items():
        monkeypatch.setitem(NAMESPACE, name, value)
    asked = replace(bench.lab.question(question))  # a question keeps its answer
    assert asked.right.id == right


# --- passes


@pytest.mark.parametrize("machine", [GPU, CPU])
def test_the_parts_of_every_pass_are_its_wall_time(machine):
    found = measured(machine)
    assert len(found) >= 4 and "resnet50_1" in found
    for slug, each in found.items():
        workload, _, batch = slug.rpartition("_")
        rows = [r for r in passes.evidence.file(passes.FILES[machine]).rows if r.workload == workload and r.mode == "eager" and r.wall_s]
        recorded = next(r for r in rows if r.params["batch"] == int(batch))
        assert each.seconds == pytest.approx(recorded.value("wall_s"), rel=1e-9)
        assert each.share(DEVICE) == pytest.approx(recorded.value("busy_s") / recorded.value("wall_s"), rel=1e-9)
        assert each.overlaps == (machine == GPU)


def test_kernels_are_sorted_by_name():
    names = {
        "void at::native::batch_norm_transform_input_kernel<c10::Half": "norms", "nvjet_sm90_hsh_32x64_64x16_4x2_h_bz_bias_TNN": "products",
        "void cudnn::engines_precompiled::nchwToNhwcKernel<__half": "copies", "Memcpy DtoD (Device -> Device)": "copies",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16": "attention", "aten::conv2d": "products",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda": "copies", "aten::max_pool2d": "other",
        "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl": "elementwise",
    }  # fmt: skip
    assert {name: passes.kind_of(name) for name in names} == names


def test_both_ways_by_hand_and_both_ceilings():
    case = measured(GPU)["resnet50_1"]
    assert case.speedup(DEVICE, math.inf) == pytest.approx(1.1006, abs=1e-4) and case.speedup(HOST, math.inf) == pytest.approx(
        10.936, abs=1e-3
    )
    assert case.speedup(DEVICE, math.inf, overlap=True) == 1.0  # the host's launches cover all of it
    large = measured(GPU)["resnet50_128"]
    assert large.speedup(DEVICE, math.inf) == pytest.approx(26.06, abs=0.01) and 1.1 < large.speedup(DEVICE, math.inf, overlap=True) < 1.4
    # the queued passes themselves, within the host's own noise
    for each in measured(GPU).values():
        workload, _, batch = each.slug.rpartition("_")
        piped = next(r for r in passes.evidence.file(passes.FILES[GPU]).rows
                     if r.workload == workload and r.params["batch"] == int(batch) and r.mode == "eager").value("piped_s")  # fmt: skip
        assert max(each.lane_times(DEVICE, 1.0).values()) == pytest.approx(piped, rel=0.1)


# --- Act I


def test_first_reading(bench):
    assert cards(turned(bench, "act1", factor=10))["Speed-up of the pass"] == "1.09×"
    first = cards(turned(bench, "act1"))
    assert first["Share of the pass"] == "9.14%" and first["Speed-up of the pass"] == "1.1×"
    assert cards(turned(bench, "act1", **{"pass": "pipeline", "stage": "resize"})) != cards(turned(bench, "act1", **{"pass": "pipeline"}))


def test_the_prediction_and_the_truth_are_on_the_picture(bench):
    rules = {m["role"]: m["x"] for m in figure(turned(bench, "act1"), "pass")["marks"] if m.get("role")}
    assert rules["truth"] / rules["prediction"] == pytest.approx(11 / 1.1006, rel=1e-4)


def test_a_part_that_a_pass_lacks_can_t_be_chosen(bench):
    dials = {dial["id"]: dial for dial in turned(bench, "act1", **{"pass": "resnet50_1"})["dials"].items() and
             [{"id": name, **change} for name, change in turned(bench, "act1")["dials"].items()]}  # fmt: skip
    disabled = {option["value"] for option in dials["part"]["options"] if option["disabled"]}
    assert disabled == {"attention"} and set(KINDS) > disabled


def test_the_learner_s_own_stages_lie_on_their_curve(bench):
    view = turned(bench, "act1", **{"pass": "pipeline", "stage": "model", "factor": 8})
    assert cards(view)["Share of the pass"] == "80%" and cards(view)["Speed-up of the pass"] == "3.33×" and cards(view)["Ceiling"] == "5×"
    mine = [(m["x"], m["y"]) for m in figure(view, "growing")["marks"] if m.get("colour") == "here"]
    assert mine == [(pytest.approx(s), pytest.approx(1 / (0.2 + 0.8 / s))) for s in (2, 8, 40)]
    said = bench.slots("act1.here_stages", str(bench.piece("act1.measure").view["items"][0]["result"]))
    assert said["share"] == "80%" and said["law"].startswith(said["whole"])


# --- Act II


def test_states_by_hand():
    assert state(JOB) == "out_of_reach" and JOB.weeks_needed == halvings(1 / 9, 12, 64) == 1 and math.isinf(JOB.needed)
    assert state(replace(JOB, weeks=1)) == "waiting" and replace(JOB, weeks=1).needed == 34
    assert state(replace(JOB, weeks=1, workers=33)) == "too_few" and replace(JOB, weeks=1, workers=34).speedup >= 12
    assert state(replace(JOB, weeks=2, workers=18)) == "good" and replace(JOB, weeks=2, workers=18).cost == pytest.approx(397, abs=0.5)
    assert state(replace(JOB, weeks=1, workers=400)) == "not_worth"
    talking = replace(JOB, share=0.02, kappa=0.001, target=10.0, workers=40)
    assert state(talking) == "backwards" and talking.best == 31 and talking.speedup_on(41) < talking.speedup
    assert state(replace(talking, job="grows")) in ("good", "waiting") and replace(talking, job="grows").best == math.inf
    assert replace(JOB, target=80.0).weeks_needed == math.inf  # more than there are workers


def test_the_cheapest_design_is_the_cheapest():
    least = cheapest(JOB, 8, MOST)
    reached = [replace(JOB, workers=n, weeks=w) for n in range(1, 257) for w in range(9)]
    assert least.cost == min(each.cost for each in reached if each.speedup >= 12) and (least.workers, least.weeks) == (18, 2)


def test_recorded_and_local_workers_are_drawn(bench):
    marks = figure(turned(bench, "act2"), "scaling")["marks"]
    here = {(m["x"], round(m["y"], 6)) for m in marks if m.get("colour") == "here"}
    assert here == {(1, 1.0), (2, 1.6), (4, 2.0), (2, 1.9), (4, 3.4)}
    recorded = [m for m in marks if m["type"] == "point" and m.get("name", "").endswith("measured")]
    assert len(recorded) == 32 and {m["shape"] for m in recorded} == {"diamond", "triangle"}
    said = bench.slots("act2.here_workers", str(bench.piece("act2.measure").view["items"][0]["result"]))
    assert said["threads_share"] == "25%" and said["processes_many"].startswith(f"{amdahl(karp_flatt(1.9, 2), 64):.3g}")


def test_what_sixteen_cores_say_of_two():
    found = local_runs.recorded_slots()
    assert found["most"] == "16"
    series, _ = local_runs.recorded()
    for way, near in (("processes", 0.1), ("threads", None)):
        at = dict(series[way])
        foretold = amdahl(karp_flatt(at[2.0], 2.0), 16.0)
        if near:
            assert at[16.0] == pytest.approx(foretold, rel=near)
        else:
            assert at[16.0] < 0.6 * foretold and at[16.0] < at[8.0]  # the lock: more threads are slower
    assert 5 < local_runs.fitted("threads").peak < 12 and local_runs.fitted("processes").peak > 30


# --- the end


def test_the_challenge_is_judged_by_workers_and_weeks_alone(bench):
    judged = {key: challenge.judge(bench.lab, {"workers": n, "weeks": w, "price": 9.0}) for key, (n, w) in
              {"best": (18, 2), "near": (34, 1), "dear": (200, 1), "short": (64, 0)}.items()}  # fmt: skip
    assert {name: verdict.met for name, verdict in judged.items()} == {"best": True, "near": True, "dear": False, "short": False}
    assert "397 USD" in bare(judged["best"].text)


def test_the_whole_lab_leaves_its_design(page):
    page.predict("act1", "x1", 3)
    page.reload().reflect("act1", "x1_25")
    page.reload().predict("act2", "x8", 4)
    page.reload().turn("act2", workers=18, weeks=2)
    page.send("act2.decide", act=1)
    page.reload().reflect("act2", "overhead")
    keep(page.ledger, SLUG, "workers")
    page.reload().turn("act2", workers=18, weeks=2)  # a browser keeps them
    page.save()
    saved = page.ledger.design(SLUG)
    assert saved["workers"] == 18 and saved["weeks"] == 2 and saved["speedup_predicted"] == pytest.approx(18 / (1 + 17 / 36), abs=1e-3)
    assert saved["serial_share"] == pytest.approx(1 / 9, abs=1e-5) and saved["sigma"] == pytest.approx(1 / 36, abs=1e-5)
    assert saved["constraint_hit"] is False and saved["challenge_met"] is True and saved["speedup_target"] == 12
    assert saved["here_serial_share"] == pytest.approx(karp_flatt(1.9, 2), abs=1e-4) and saved["act2_correct"] and saved["kappa"] == 0


def test_another_context_brings_its_own_passes(page):
    page.predict("act1", "x2", 3)
    page.send("context", value=CPU)
    view = page.reload().turn("act1")
    assert cards(view)["Share of the pass"] == "94.3%" and "Neoverse" not in cards(view)
    assert page.shows("act1.mark", view["note"]) and not page.shows("act1.exposed", view["note"])


def test_the_curve_is_on_linear_axes_and_the_cluster_is_half_of_them(bench):
    near, far = (figure(turned(bench, "act2", workers=n), "scaling") for n in (64, 1024))
    assert (near["x"]["scale"], near["x"]["domain"]) == ("linear", [0.0, 128.0]) and far["x"]["domain"] == [0.0, 1024.0]
    assert near["y"]["scale"] == "linear" and near["title"] == "64 workers, 8\u00d7 as fast"


def test_how_far_off_is_said_of_the_speed_up_and_not_of_the_time(page):
    page.predict("act1", "x2", 3)
    marks = {mark.get("id"): mark for mark in figure(turned(page.reload(), "act1"), "pass")["marks"]}
    assert marks["prediction"]["distance"] == "1.82\u00d7 too high"
