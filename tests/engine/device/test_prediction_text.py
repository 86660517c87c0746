"""A prediction in one line, as a table, and as JSON: short, escaped, complete, and of a version that is named."""

import json
import math
from dataclasses import replace

import numpy as np
from small_graphs import chain

import ironlaw as il
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
