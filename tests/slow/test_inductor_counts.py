"""Loops and layouts of compiled models beside what Inductor itself makes of them (benchmarks/inductor.py, PyTorch 2.11)."""

import importlib
import json
import sys
from pathlib import Path
from statistics import mean

import pytest

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.cuda.layout import channels_last
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import category
from ironlaw.tracing.graph_json import from_json

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sealed = importlib.import_module("sealed")
COUNTS = json.loads((BENCHMARKS / "inductor_counts.json").read_text())


@pytest.fixture(scope="module")
def graphs():
    """By library, model and batch."""
    stored = sealed.stored(1)
    opened = set(sealed.opened(sealed.load(1)))
    keys = {name: "{} {} inference fp16 {}".format(*name.split(" ")) for name in COUNTS}
    assert {name.split(" ")[1] for name in COUNTS} <= opened, "only models that were opened may be looked at"
    return {name: from_json(stored[key]) for name, key in keys.items()}


def loops(graph: il.Graph) -> float:
    """Kernels that the compiler writes itself."""
    machine, cuda = il.hardware("h200_sxm"), require("cuda")
    count = 0.0
    for row in il.predict(graph, machine, il.Plan("compiled")).ops:
        if row.op.kind == "conv2d":
            count += conversions(row.op)
        elif not any(category(part.kind) in ("contraction", "attention") for part in row.op.attrs.get("parts", (row.op,))):
            count += sum(float(kernel.count) for kernel in cuda.lower(row.op, machine, "compiled"))
    return count


def conversions(op: Op) -> int:
    """A weight of several pixels and channels, and the image that was handed in, are brought into NHWC by loops."""
    x, w = op.inputs[:2]
    return 0 if op.attrs.get("layout") == "nchw" else (w.shape[1] > 1 and w.shape[2] * w.shape[3] > 1) + (x.role == "input")


def test_layouts_are_changed_where_inductor_changes_them(graphs):
    assert {name: channels_last(graph) for name, graph in graphs.items()} == {name: one["nhwc"] for name, one in COUNTS.items()}


def test_loops_are_as_many_as_inductor_writes(graphs):
    assert len(graphs) >= 14
    off = {name: loops(graph) / COUNTS[name]["loops"] - 1.0 for name, graph in graphs.items()}
    assert mean(map(abs, off.values())) < 0.10, off
    assert max(map(abs, off.values())) < 0.35, off
