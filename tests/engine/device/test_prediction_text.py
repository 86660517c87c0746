"""A prediction in one line, as a table, and as JSON: short, escaped, complete, and of a version that is named."""

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from measured_toy import DESK, LONGER, NET, measured, took
from small_graphs import MACHINE, chain, tensor

import ironlaw as il
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

H200 = il.hardware("h200_sxm")


def test_one_line_however_large_the_model():
    """It was 282 kB."""
    p = predict(il.workload("resnet50"), H200)
    assert repr(p).startswith("<Prediction resnet50 on h200_sxm, eager: ") and len(repr(p)) < 200
    assert "likely" in repr(p) and "bound by overhead" in repr(p) and "calibrated" in repr(p)
    bound = predict(il.workload("resnet50"), H200, il.Plan(calibrated=False))
    assert "likely" not in repr(bound) and repr(bound).endswith("bound>")
    swept = predict(il.workload("resnet50", batch=np.arange(1, 400)), H200)
    assert "a sweep of 399 points" in repr(swept) and len(repr(swept)) < 200 and "399 points" in swept._repr_html_()


def test_what_goes_into_a_prediction_is_one_line_too():
    """A machine that was measured was 558 kB, ResNet-50's graph 125."""
    assert repr(H200) == "<Hardware h200_sxm: NVIDIA H200 SXM5 141 GB>"
    graph = il.workload("resnet50")
    assert repr(graph) == f"<Graph resnet50: {len(graph.ops)} ops, fp16>"
    assert repr(H200.calibration).startswith("<Calibration cuda: ") and len(repr(H200.calibration)) < 100


def test_a_table_for_notebooks_is_escaped():
    p = predict(replace(chain("relu"), name="<script>alert(1)</script>"), H200)
    assert "<script>" not in p._repr_html_() and "&lt;script&gt;" in p._repr_html_() and p._repr_html_().startswith("<table>")
    assert predict(il.workload("mlp8_1024"), il.hardware("a100"))._repr_html_().count("<tr>") == 7


def test_what_is_written_is_json_and_says_its_version():
    p = predict(il.workload("mlp8_1024"), H200)
    out = json.loads(json.dumps(p.to_dict(), allow_nan=False))
    assert out["schema"] == "ironlaw-prediction/1"
    for name in ("seconds", "busy_s", "host_s", "data_s", "compute_s", "overhead_s", "mfu", "label", "bound", "kernels"):
        assert out[name] == getattr(p, name)
    assert (tuple(out["interval"]), tuple(out["device_interval"])) == (p.interval, p.intervals.device)
    assert len(out["ops"]) == len(p.ops) and math.isclose(sum(row["seconds"] for row in out["ops"]), p.busy_s)
    seconds = [row["seconds"] for row in p.to_dict(3)["ops"]]
    assert seconds == sorted(seconds, reverse=True) and len(seconds) == 3 and "ops" not in p.to_dict(0)


def test_an_open_end_is_none_and_a_sweep_is_lists():
    x = Tensor("x", (64,))
    out = predict(Graph("g", (op("unknown", "mine", [x], [x]),)), H200).to_dict()
    json.dumps(out, allow_nan=False)
    assert out["interval"][1] is out["device_interval"][1] is out["ops"][0]["interval"][1] is None
    swept = predict(il.workload("mlp8_1024", batch=np.array([1.0, 4.0])), H200).to_dict()
    json.dumps(swept, allow_nan=False)
    assert len(swept["seconds"]) == len(swept["interval"][0]) == 2


# ---- word by word, on a toy machine: launches after 0.5, 1.25 and 1.75 s, kernels of 2, 0.5 and 1.5 s one after the other


@pytest.fixture(scope="module")
def worked():
    """Half of its device time lies outside what was measured, and one op in three is bound by each term."""
    costs = {"relu": took(0.5, 0.25, "outside", launch=0.75), "exp": took(0.25, 1.5, "outside")}
    return measured(LONGER, linear=took(2.0, 0.5, "inside"), **costs)


def cells(html):
    """The caption of a table, and its cells by their headings; there is no text between rows."""
    table = ElementTree.fromstring(html)
    caption, *rows = table
    assert [part.tag for part in table] == ["caption"] + ["tr"] * len(rows) and not any(part.tail for part in table.iter())
    return caption.text, {row.find("th").text: row.find("td").text for row in rows}


def rounded(value):
    """Figures to nine digits, however deep in lists and dicts."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_the_line_of_a_bound_of_a_calibrated_time_and_of_an_open_end(worked):
    assert repr(predict(NET, MACHINE)) == "<Prediction net on toy, eager: 4.34 s, bound by memory, bound>"
    # the device 0.8 s less or 1 s more; the host at half or twice its pace 0.25 s less or 0.5 s more
    likely = "3.66 s – 5.62 s"
    assert repr(worked) == f"<Prediction longer on toy, eager: 4.5 s, likely {likely}, bound by memory, partly calibrated>"
    # 9.5 s / 1.25, and no less than 128 bytes from the cache take: 7.92 s of 10, and 0.25 s of the host
    likely = "over 8.41 s"
    unsure = measured(NET, linear=took(9.5, 0.5, "inside"), relu=took(0.5, 0.25, "unknown"))
    assert repr(unsure) == f"<Prediction net on toy, eager: 10.5 s, likely {likely}, bound by memory, partly calibrated>"


def test_the_table_of_a_bound():
    told = {"time": "4.34 s", "likely": "–", "bound by": "memory", "device": "3.84 s", "host": "1 s", "kernels": "2", "figures": "bound"}
    assert cells(predict(NET, MACHINE)._repr_html_()) == ("net on Toy, eager", told)


def test_the_table_of_a_calibrated_time_says_what_lies_outside(worked):
    told = {"time": "4.5 s", "likely": "3.66 s – 5.62 s", "bound by": "memory", "device": "4 s", "host": "1.75 s", "kernels": "3"}
    told |= {"figures": "partly calibrated", "outside what was measured": "50%: exp, relu"}
    assert cells(worked._repr_html_()) == ("longer on Toy, eager", told)
    tenth = measured(NET, linear=took(9.0, 0.5, "inside"), relu=took(1.0, 0.25, "outside"))
    told = cells(tenth._repr_html_())[1]
    assert "outside what was measured" not in told and told["figures"] == "calibrated"  # a tenth is not over a tenth


def test_the_whole_json_by_hand(worked):
    fc = {
        "name": "fc", "seconds": 2.0, "data_s": 2.0, "compute_s": 0.5, "floor_s": 0.0, "launch_s": 0.5, "kernels": 1.0, "term": "memory",
        "regime": "memory", "interval": [2.0, 2.0], "measured": "inside", "kind": "linear", "flops": 512.0, "bytes": 256.0,
    }  # fmt: skip
    act = fc | {"name": "act", "seconds": 0.5, "data_s": 0.5, "compute_s": 0.25, "launch_s": 0.75, "term": "overhead"}
    act |= {"interval": [0.5, 0.5], "measured": "outside", "kind": "relu", "flops": 32.0, "bytes": 128.0}
    last = act | {"name": "last", "seconds": 1.5, "data_s": 0.25, "compute_s": 1.5, "launch_s": 0.5, "term": "compute"}
    last |= {"regime": "compute", "interval": [1.5, 1.5], "kind": "exp"}
    assert rounded(worked.to_dict()) == {
        "schema": "ironlaw-prediction/1", "workload": "longer", "dtype": "fp16", "hardware": "toy",
        "host": {
            "slug": "desk", "name": "A desk", "estimate": False, "launch_s": 0.5, "launch_is_given": False, "entry_s": 0.25,
            "graph_start_s": 0.75, "source": "a bench", "date": "2026-01-01", "caveats": ["a busy machine"],
        },
        "mode": "eager", "dispatch": "queued", "label": "partly calibrated", "basis": "calibrated", "calibrated": True,
        "seconds": 4.5, "overlap": [4.5, 5.5], "data_s": 2.75, "compute_s": 2.25, "overhead_s": 0.5, "busy_s": 4.0, "host_s": 1.75,
        "bound": "memory", "utilization": 0.888888889, "mfu": 0.113777778, "kernels": 3.0,
        "interval": [3.66184727, 5.61803399], "device_interval": [3.2, 5.0], "host_interval": [0.875, 3.5],
        "measured_shares": {"inside": 0.5, "near": 0.0, "outside": 0.5, "unknown": 0.0},
        "outside": [{"operator": "exp", "share": 0.375}, {"operator": "relu", "share": 0.125}],
        "flops": 512.0, "bytes": 512.0, "params": 64,
        "memory": {
            "weights": 128.0, "kv_cache": 0, "activations": 192.0, "workspace": 0.0, "total": 320.0, "segments": 320.0,
            "capacity": 10_000.0, "reserved": 1000.0,
            "usable": 9000.0,
        },
        "fits": True, "energy_j": 90.0, "energy_is_estimate": True,
        "sources": ["measured here", "host: A desk; a bench, 2026-01-01", "a busy machine"],
        "fp32": {"asked": "default", "in_tf32": []},
        "ops": [fc, last, act],  # the longest first
    }  # fmt: skip


def test_a_bound_as_json_has_no_intervals_and_knows_of_no_measurements():
    out = predict(NET, MACHINE, Plan("compiled")).to_dict()
    for name in ("interval", "device_interval", "host_interval", "measured_shares"):
        assert out[name] is None
    (fused,) = out["ops"]
    assert (out["label"], out["outside"]) == ("bound", []) and fused["interval"] is fused["measured"] is None
    assert (fused["name"], fused["kind"], fused["flops"], fused["bytes"]) == ("fc…act", "linear + relu", 544.0, 256.0)


def test_a_launch_that_is_given_stands_for_every_launch_of_a_host():
    given = predict(NET, MACHINE, Plan(launch=2.0, host=DESK)).to_dict()["host"]
    assert (given["launch_is_given"], given["launch_s"], given["graph_start_s"], given["entry_s"]) == (True, 2.0, 2.0, 0.25)
    nameless = predict(NET, MACHINE, Plan(host=Host({"default": 0.5}))).to_dict()["host"]
    assert nameless["slug"] is nameless["source"] is nameless["date"] is None and nameless["launch_s"] == 0.5


def test_json_says_which_products_are_computed_in_tf32():
    machine = replace(MACHINE, peaks={"fp32": 500.0, "tf32": 1000.0}, narrowed={"tf32": ("linear",)})
    x, w, y = tensor("x", 4, 8, dtype="fp32"), tensor("w", 8, 8, dtype="fp32", role="weight"), tensor("y", 4, 8, dtype="fp32")
    graph = Graph("wide", (op("linear", "fc", [x, w], [y]),), "fp32")
    assert predict(graph, machine, Plan(fp32="tf32")).to_dict()["fp32"] == {"asked": "tf32", "in_tf32": ["linear"]}
    assert predict(graph, machine).to_dict()["fp32"] == {"asked": "default", "in_tf32": []}
