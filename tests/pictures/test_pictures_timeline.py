"""The device over time and memory over time: every op is in some bar, to scale, and long models are grouped by module."""

import pytest

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.memory import live_activations
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.timeline import timeline as schedule
from ironlaw.pictures.live import live
from ironlaw.pictures.timeline_picture import BARS, ROWS, module, parts, stretches, timeline
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload


@pytest.mark.parametrize("model", ["resnet50", "llama3_8b", "gpt2_layer"])
@pytest.mark.parametrize("mode", ["eager", "graphs"])
def test_bars_cover_the_busy_time_and_gaps_the_rest(model: str, mode: str):
    p = predict(workload(model), hardware("h200_sxm"), Plan(mode))
    slots = schedule(p)
    bars = stretches(slots)
    assert [slot for bar in bars for slot in bar.slots] == list(slots)
    assert len(bars) <= BARS
    assert sum(bar.busy for bar in bars) == pytest.approx(float(p.busy_s))
    figure = timeline(p)
    marks = figure.to_dict()["marks"]
    drawn = [m for m in marks if m["name"] != "idle"]
    assert len(drawn) == len(bars)
    assert max(m["x1"] for m in drawn) == pytest.approx(float(p.seconds))
    assert len(figure.y.names) <= ROWS + 1
    idle = sum(m["x1"] - m["x0"] for m in marks if m["name"] == "idle")
    assert idle <= float(p.seconds - p.busy_s) + 1e-12


def test_launch_bound_shows_its_gaps():
    p = predict(workload("resnet50", batch=1), hardware("h200_sxm"), Plan())
    figure = timeline(p)
    gaps = [m for m in figure.to_dict()["marks"] if m["name"] == "idle"]
    assert len(gaps) > 50 and "idle" in figure.y.names
    assert "gaps are too short to draw" in figure.text
    assert "the device busy" in figure.note


def test_modules_by_name():
    assert module("layer1.0.conv1.convolution.2") == ("layer1", "0", "conv1")
    assert module("fc.addmm:1") == ("fc",)
    assert module("relu") == ("relu",)
    assert module("layer1.0.bn1…layer1.0.relu") == ("layer1", "0")


def test_a_large_part_is_split_and_siblings_are_joined():
    names = ["embed.x", *(f"layers.{i}.mlp.fc{j}" for i in range(30) for j in range(4)), "head.x"]
    rows = parts(names, 12)
    assert len(set(rows.values())) <= 12
    assert rows["embed.x"] == "embed" and rows["head.x"] == "head"
    assert rows["layers.0.mlp.fc0"] == "layers.0 – layers.2" and rows["layers.29.mlp.fc3"] == "layers.27 – layers.29"


def test_a_backward_pass_has_a_row_of_its_own():
    names = [f"model.layers.{i}.fc.addmm" for i in range(8)] + [f"mm.{i}" for i in range(2, 9)] + ["sum", "relu", "_foreach_mul"]
    rows = parts(names)
    assert rows["mm.3"] == rows["sum"] == "outside any module" and rows["_foreach_mul"] == "optimiser"
    assert rows["model.layers.0.fc.addmm"] == "model.layers.0"
    assert parts(["relu", "add", "mul"])["add"] == "add"  # a function without modules: its own names


def test_flat_models_are_cut_by_count():
    slots = schedule(predict(workload("resnet50"), hardware("h200_sxm")))
    few = stretches(slots, 3)
    assert len(few) == 3 and sum(len(bar.slots) for bar in few) == len(slots)


@pytest.mark.parametrize("model", ["resnet50", "llama3_8b"])
def test_the_peak_of_memory_is_marked(model: str):
    graph, machine = workload(model), hardware("h200_sxm")
    figure = live(graph, machine)
    marks = figure.to_dict()["marks"]
    peak = next(m for m in marks if m.get("id") == "peak")
    assert peak["y"] == float(live_activations(graph))
    line = next(m for m in marks if m["type"] == "line")
    assert max(y for _, y in line["points"]) == peak["y"]  # the thinned line keeps the peak
    assert len(marks) < 60
    assert "which fits in" in figure.text


def test_what_does_not_fit_is_said():
    graph, machine = workload("resnet50", batch=256), hardware("h200_sxm")
    from dataclasses import replace

    tight = replace(machine, capacity=float(graph.weight_bytes) + 0.5 * float(live_activations(graph)), reserved=0.0)
    figure = live(graph, tight)
    room = next(m for m in figure.to_dict()["marks"] if m.get("id") == "room")
    assert room["colour"] == "fail"
    assert "which does not fit in" in figure.text
