"""The predicted timeline as a trace: valid, of the same totals as the prediction, and read back without a gap."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import ironlaw as il
from ironlaw.errors import BadValue
from ironlaw.report import chrome_trace, kineto
from ironlaw.report.trace_join import join

MODES = ("eager", "compiled", "graphs", "eager_graphs")


def predicted(mode: str, dispatch: str = "queued") -> il.Prediction:
    return il.predict(il.workload("resnet18", batch=4), il.hardware("h200_sxm"), il.Plan(mode, dispatch))


def events(*predictions: il.Prediction, cat: str = "") -> list[dict]:
    found = json.loads(chrome_trace.text(predictions), parse_constant=pytest.fail)["traceEvents"]
    return [event for event in found if not cat or event.get("cat") == cat]


@pytest.mark.parametrize("mode", MODES)
def test_kernels_add_up_to_the_device_time_and_end_with_the_wall(mode: str) -> None:
    p = predicted(mode)
    kernels = events(p, cat="kernel")
    assert sum(e["dur"] for e in kernels) == pytest.approx(1e6 * p.busy_s, rel=1e-4)
    assert max(e["ts"] + e["dur"] for e in kernels) == pytest.approx(1e6 * p.seconds, abs=1 / chrome_trace.FINE)
    assert sum(e["args"]["kernels"] for e in kernels) == pytest.approx(p.kernels)
    for before, after in pairwise(kernels):  # one stream: none begins before the last has ended
        assert before["ts"] + before["dur"] <= after["ts"]


@pytest.mark.parametrize("dispatch", ["queued", "synchronous"])
def test_the_host_takes_as_long_as_predicted_and_launches_before_the_kernel(dispatch: str) -> None:
    p = predicted("eager", dispatch)
    launches = {e["args"]["correlation"]: e for e in events(p, cat="cuda_runtime")}
    assert sum(e["dur"] for e in launches.values()) == pytest.approx(1e6 * p.host_s, rel=1e-4)
    for kernel in events(p, cat="kernel"):
        launch = launches[kernel["args"]["correlation"]]
        assert launch["ts"] + launch["dur"] <= kernel["ts"]


def test_a_graph_is_launched_once() -> None:
    p = predicted("graphs")
    (launch,) = events(p, cat="cuda_runtime")
    kernels = events(p, cat="kernel")
    assert launch["name"] == "graph launch" and launch["ts"] + launch["dur"] <= kernels[0]["ts"]
    assert {kernel["args"]["correlation"] for kernel in kernels} == {launch["args"]["correlation"]}


@pytest.mark.parametrize("mode", MODES)
def test_an_arrow_leads_from_a_launch_to_its_kernel(mode: str) -> None:
    found = events(predicted(mode))
    slices = [(e["pid"], e["tid"], e["ts"]) for e in found if e["ph"] == "X"]
    ends = {"s": {}, "f": {}}
    for e in found:
        if e["ph"] in ends:
            ends[e["ph"]][e["id"]] = e
    assert ends["s"] and set(ends["s"]) == set(ends["f"])
    for start, end in ((ends["s"][i], ends["f"][i]) for i in ends["s"]):
        assert start["ts"] <= end["ts"] and start["pid"] != end["pid"]
        assert all((e["pid"], e["tid"], e["ts"]) in slices for e in (start, end))  # each is at the beginning of a slice


def test_several_predictions_keep_apart() -> None:
    found = events(predicted("eager"), predicted("compiled"))
    names = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    assert sorted(names) == [0, 1, 2, 3] and len(set(names.values())) == 4
    assert "eager: host" in names[0] and "compiled: device" in names[3]
    ids = Counter(e["id"] for e in found if e["ph"] == "s")
    assert max(ids.values()) == 1


def test_it_is_read_back_without_a_gap(tmp_path: Path) -> None:
    p = predicted("eager")
    trace = kineto.read(chrome_trace.write([p], tmp_path / "trace.json"))
    joined = join(p, trace)
    assert joined.runs == 1 and not joined.missing and not joined.extra and not joined.elsewhere
    assert len(joined.pairs) == sum(float(row.seconds) > 0 for row in p.ops)
    assert all(pair.gap == pytest.approx(0.0, abs=1e-9) for pair in joined.pairs)


def test_only_over_a_trace_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "trace.json"
    chrome_trace.write([predicted("eager")], place)
    first = place.read_text()
    chrome_trace.write([predicted("compiled")], place)
    assert place.read_text() != first
    place.write_text('{"schemaVersion": 1, "traceEvents": []}')  # the profiler's own
    with pytest.raises(BadValue, match="something else"):
        chrome_trace.write([predicted("eager")], place)
    with pytest.raises(BadValue, match="no folder"):
        chrome_trace.write([predicted("eager")], tmp_path / "nowhere" / "trace.json")
