"""A branch behind weights that nobody has is taken as the maker's own initialisation would take it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.tracing.initialisation import Start, mark, remembered, start_of  # noqa: E402
from ironlaw.tracing.load_target import load  # noqa: E402

DETECTOR = """
import torch
class Net(torch.nn.Module):
    def __init__(self, start=-4.6):
        super().__init__()
        self.head = torch.nn.Linear(8, 8)
        torch.nn.init.normal_(self.head.weight, std=0.01)
        torch.nn.init.constant_(self.head.bias, start)
    def forward(self, x):
        scores = self.head(x).sigmoid()
        return scores[scores > 0.2] * 2
"""


def sizes(graph: Any) -> list[int]:
    return [math.prod(op.outputs[0].shape) for op in graph.ops if op.kind == "gather"]


@pytest.mark.parametrize(("start", "dtype"), [(-4.6, None), (-4.6, "fp16"), (4.6, "fp16")])
def test_a_detector_starts_silent(tmp_path: Path, start: float, dtype: str | None) -> None:
    file = tmp_path / "detector.py"
    file.write_text(DETECTOR)
    target = load(f"{file}:Net", ["16x8"], dtype=dtype, settings={"start": start})
    found = sizes(il.capture(target.call, target.args))
    # of each element that is kept its row and its column, then its value
    assert found == ([2 * 128, 128] if start > 0 else []), "sigmoid(±4.6) is 0.99 or 0.01, on either side of 0.2"


def test_the_last_whole_fill_counts() -> None:
    with torch.device("meta"), remembered() as seen:
        net = nn.Linear(4, 4)
        net.weight.data.normal_(1.0, 0.5)
        nn.init.uniform_(net.bias, -2.0, 3.0)
        other = nn.Linear(4, 4)
        nn.init.zeros_(other.bias)
        with torch.no_grad():
            other.weight[0].fill_(1.0)
        ones = nn.Parameter(torch.full((3,), 2.0))
    other.ones = ones
    mark(net, seen)
    mark(other, seen)
    assert start_of(net.half().weight) == Start("normal", (1.0, 0.5))
    assert start_of(net.bias) == Start("uniform", (-2.0, 3.0))
    assert start_of(other.bias) == Start("constant", (0.0,)) and start_of(other.ones) == Start("constant", (2.0,))
    assert start_of(other.weight) is None, "one row differs from the rest"


def test_values_follow_their_law() -> None:
    normal = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
    uniform = Start("uniform", (-2.0, 3.0)).values(normal)
    assert -2 <= uniform.min() < -1.99 and 2.99 < uniform.max() <= 3
    assert abs(float(uniform.mean()) - 0.5) < 0.02 and abs(float(uniform.std()) - 5 / 12**0.5) < 0.02
    assert abs(float(Start("normal", (1.0, 0.5)).values(normal).std()) - 0.5) < 0.01
