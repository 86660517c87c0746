"""Graphs with the names that capture gives, and a whole analysis without PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ironlaw.engine.device.machine import MODES, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.report.analysis import Analysis, Compiling


@pytest.fixture
def named() -> Callable[..., Graph]:
    """`named("conv.convolution", "relu")`: a chain of ops with these names, the last part of each being the ATen call's."""

    def build(*names: str) -> Graph:
        before, ops, calls = Tensor("x", (64, 64), "fp16", "input"), [], []
        for i, name in enumerate(names):
            after = Tensor(f"t{i}", (64, 64), "fp16")
            ops.append(op("relu", name, [before], [after]))
            before = after
            place, _, number = name.partition(":")  # `fc.addmm:1` is the second op of the call `fc.addmm`
            calls.append((place.removesuffix(".2").rpartition(".")[2], calls[-1][1] if number else i))
        return Graph("named", tuple(ops), "fp16", {"captured": True, "unknown": {}, "calls": tuple(calls)})

    return build


@pytest.fixture
def analysed() -> Callable[..., Analysis]:
    def build(model: str = "gpt2_layer", machines: tuple[str, ...] = ("h200_sxm",), modes: tuple[str, ...] = MODES[:3], **more) -> Analysis:
        graph = workload(model)
        made = tuple(predict(graph, hardware(m), Plan(mode)) for m in machines for mode in modes)
        compiling = {m: Compiling(30.0, "given with --compile-s") for m in machines} if more.pop("compiled", True) else {}
        return Analysis(graph, made, model, compiling=compiling, **more)

    return build
