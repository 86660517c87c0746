"""Stages and workers: that they compute what they are said to, for real and in a blink."""

import json
import zlib
from contextlib import ExitStack

import numpy as np
import pytest

from ironlaw.kit import experiment as page
from ironlaw.kit.measured_run import Measured
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.experiments import experiment_list, stages_trial, workers
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled


@pytest.fixture(scope="module")
def staged():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages_trial, "ROUNDS", 3)
        return run("stages", seconds=0.0)


@pytest.fixture(scope="module")
def worked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "ITEMS", 4)
        patch.setattr(workers, "cores", lambda: 1)
        return run("workers", seconds=0.0)


def test_the_image_comes_out_as_it_went_in():
    packed = stages_trial.picture()
    image = stages_trial.inflate(packed)
    assert image.shape == (224, 224, 3) and image.tobytes() == zlib.decompress(packed)
    assert 0.2 < len(packed) / image.nbytes < 0.9  # noise that inflating has to work for


def test_a_small_pixel_is_the_mean_of_its_square():
    image = np.zeros((224, 224, 3), np.uint8)
    image[:7, :7] = 200
    small = stages_trial.resize(image)
    assert small.shape == (1, 1024) and small.mean() == pytest.approx(0, abs=1e-12) and small.std() == pytest.approx(1)
    assert small[0].argmax() == 0 and len(set(np.round(small[0][1:], 9))) == 1


def test_narrower_and_shorter_formats_give_as_many_outputs():
    row = stages_trial.resize(stages_trial.inflate(stages_trial.picture()))
    wide = {variant: stages_trial.pipeline(variant)["model"](row) for variant in stages_trial.VARIANTS}
    assert {len(scores) for scores in wide.values()} == {stages_trial.OUTPUTS}
    assert wide["fp64"].dtype == np.float64 and wide["tenth"].dtype == np.float32
    assert wide["fp32"] == pytest.approx(wide["fp64"], abs=1e-2 * np.abs(wide["fp64"]).max())  # the same weights
    assert list(stages_trial.best(np.array([3.0, 9.0, 1.0, 5.0, 7.0, 2.0]))) == [1, 4, 3, 0, 5]


def test_every_stage_is_timed_alone_and_the_whole_in_every_variant(staged):
    named = {(row["name"], row["params"]["variant"]) for row in staged["rows"]}
    assert named == {("inflate", "fp64"), ("resize", "fp64"), ("best", "fp64")} | {
        (name, variant) for name in ("model", "whole") for variant in stages_trial.VARIANTS
    }
    assert all(row["samples"] == 3 and row["wall_s"] > 0 for row in staged["rows"])


def test_parts_are_even_and_complete():
    assert workers.shares(10, 4) == [3, 3, 2, 2] and workers.shares(2, 4) == [1, 1, 0, 0] and workers.shares(48, 1) == [48]
    assert workers.counts(1) == [1, 2] and workers.counts(2) == [1, 2, 4] and workers.counts(6) == [1, 2, 4, 8, 16]


def test_threads_and_processes_do_the_same_work():
    with ExitStack() as held:
        crew = workers.Crew(2, held)
        one = workers.work(crew.packed, 1)
        for way in workers.WAYS:
            assert crew.run(way, 2, 4) == [2 * one % 2**32] * 2 and crew.run(way, 1, 3) == [3 * one % 2**32]
        assert len(crew.run(workers.PROCESSES, 2, 1)) == 1  # one item: one worker is left without


def test_a_worker_is_gone_when_nobody_asks_any_more():
    with ExitStack() as held:
        workers.Crew(1, held)
    # leaving joins every process: it would hang here if one stayed


def test_every_number_of_workers_in_both_ways(worked):
    assert [(row["name"], row["params"]["workers"]) for row in worked["rows"]] == [(way, n) for way in workers.WAYS for n in (1, 2)]
    assert [row["label"] for row in worked["rows"]] == ["1 thread", "2 threads", "1 process", "2 processes"]


@pytest.mark.parametrize("name", ["stages", "workers"])
def test_a_run_is_a_row_that_the_ledger_takes_and_the_page_shows(name, staged, worked):
    result = {"stages": staged, "workers": worked}[name]
    assert result["library"].startswith("NumPy") and json.loads(json.dumps(result, allow_nan=False)) == result
    for row in result["rows"]:
        assert ROW.valid(row)
    shown = Measured(
        name, result["library"], tuple(result["rows"]), result["machine"], result["software"], result["noise"], "2026-11-16T19:00:00Z"
    )
    html = page.table(shown)
    assert all(row["label"] in html for row in result["rows"]) and experiment_list.experiment(name).title in html


def test_they_need_numpy_and_say_so(monkeypatch):
    monkeypatch.setattr(experiment_list.choice, "available", lambda library: library == "torch")
    assert all("pip install numpy" in experiment_list.why_not(name) for name in ("stages", "workers"))


def test_stages_can_be_stopped_between_two_rounds():
    with pytest.raises(Cancelled):
        run("stages", seconds=9.0, stop=lambda: True)


def test_a_figure_that_is_no_time_is_shown_with_its_unit():
    row = {
        "kind": "figure",
        "name": "gap",
        "label": "FPR gap",
        "value": 21.4,
        "low": 18.2,
        "high": 24.6,
        "unit": "%",
        "samples": 2000,
        "params": {},
    }
    assert ROW.valid(row)
    html = page.table(Measured("stages", "NumPy", (row,), {}, {}, {}, "2026-11-16T19:00:00Z"))
    assert "FPR gap" in html and "18.2% to 24.6%" in html
