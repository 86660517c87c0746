"""The worked examples of CONTRIBUTING.md, run as they are written there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from on_machines import lower, lower_cpu

import ironlaw as il
from ironlaw.backends.backend import Backend
from ironlaw.backends.cuda import lowering
from ironlaw.engine.device import work
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import elements
from ironlaw.engine.device.work.op_count import Kinds
from ironlaw.engine.training.autograd import kept
from ironlaw.engine.training.rewrites import autocast

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(heading: str) -> str:
    """The first Python block under a heading."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.search(r"```python\n(.*?)```", section, flags=re.DOTALL)[1]


def test_an_operator_is_its_work_and_a_line_in_a_backends_file(monkeypatch):
    kind = Kinds()
    exec(example("An operator, worked"), vars(elements) | {"kind": kind})
    monkeypatch.setattr(work, "KINDS", Kinds(work.KINDS | kind))
    monkeypatch.setitem(lowering.EAGER, "cumprod", lowering.EAGER["cumsum"])
    x, y = Tensor("x", (64, 128), "fp16", "input"), Tensor("y", (64, 128), "fp16")
    op = work.op("cumprod", "running", [x], [y])
    assert (op.work.flops, op.work.bytes) == (64 * 128, 2 * 2 * 64 * 128)
    assert lower(op) == lower(replace(op, kind="cumsum"))
    assert [kernel.curve for kernel in lower_cpu(op)] == ["cumprod"]  # a stream, until it has a curve of its own
    gain = Tensor("gain", (128,), "fp16", "weight")
    training = Graph("g", (work.op("add", "x", [replace(x, name="in"), gain], [replace(x, role="activation")]), op), "fp16")
    assert {one.name for one in kept(training).tensors} == {"x", "y"}
    assert autocast(training).ops[-1].outputs[0].dtype == "fp32"
    for machine in ("h200_sxm", "neoverse_n1_2core", "mi300x"):
        assert 0 < il.predict(Graph("g", (op,), "fp16" if machine != "neoverse_n1_2core" else "fp32"), il.hardware(machine)).seconds < 1e-3


def test_a_backend_answers_what_the_class_asks():
    """The example's class has every name that a backend must have."""
    body = example("A backend, worked")
    needed = Backend.__abstractmethods__ | {"name", "dispatch", "caches", "fallback"}
    assert {name for name in needed if not re.search(rf"^    (def )?{name}\b", body, flags=re.MULTILINE)} == set()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests)/[\w/]+\.py)`", TEXT))))
def test_files_of_the_examples_are_there(path):
    assert (Path(__file__).parents[1] / path).is_file()
