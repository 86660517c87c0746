"""The program that measures compiled serving steps: its layers, which carry what the one before has left to add, are the plain ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks" / "device"))
    import serving_steps_compiled

    return serving_steps_compiled


@torch.no_grad()
def test_layers_that_carry_the_sum_give_the_same_logits(program: Any) -> None:
    model = program.Compiled(program.SMALL, 3, torch.float32)
    model.layer, model.end = model.one_layer, lambda x, y, *sizes: model.logits(x + y, *sizes)  # as torch.compile gets them
    for sizes in program.TRIED:
        assert program.farthest(model, *sizes) < program.FAR
    model.end = lambda x, y, *sizes: model.logits(x, *sizes)  # one that drops the last layer's feed-forward
    assert program.farthest(model, 2, 16, 0, 0) > program.FAR
