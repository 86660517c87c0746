"""One function with a branch on its data, captured in five ways: what each sees, and what it does with an input of the other branch.

    python -m ironlaw.tracing.capture_spectrum        prints JSON

Run as a process of its own: PyTorch is large, and its caller (the review's page) stays light. torch.compile is run with a backend that
only counts graphs: what is shown is the capture, and no code is generated.
"""

from __future__ import annotations

import json
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WAYS = ("eager", "trace", "script", "fx", "compile")
TRACER = "TracerWarning"
RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


def gate(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return torch.relu(x) * 2.0
    return -x


def run() -> dict[str, Any]:
    """Each way tried: capture on an input whose sum is positive, then a call with one whose sum is negative."""
    example, other = torch.tensor([1.0, -0.5, 2.0]), torch.tensor([-3.0, 0.5, -1.0])
    expected = gate(other)
    tried = {way: _tried(capture, example, other, expected) for way, capture in _captures().items()}
    return {
        "torch": torch.__version__, "python": platform.python_version(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "example": example.tolist(), "other": other.tolist(), "expected": expected.tolist(), "ways": tried,
    }  # fmt: skip


Captured = tuple[Callable[[Tensor], Tensor], Callable[[], dict[str, Any]]]


def _captures() -> dict[str, Callable[[Tensor], Captured]]:
    return {"eager": _eager, "trace": _trace, "script": _script, "fx": _fx, "compile": _compile}


def _tried(capture: Callable[[Tensor], Captured], example: Tensor, other: Tensor, expected: Tensor) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            captured, about = capture(example)
            result = captured(other)
        except Exception as error:
            refusal = f"{type(error).__name__}: {_first(str(error))}"
            return {"outcome": REFUSED, "error": refusal, "warnings": _messages(caught), "result": None, "sees": "", "graphs": 0}
        outcome = RIGHT if torch.equal(result, expected) else WRONG
        return {"outcome": outcome, "error": "", "warnings": _messages(caught), "result": result.tolist(), **about()}


def _eager(example: Tensor) -> Captured:
    gate(example)
    return gate, lambda: {"sees": "", "graphs": 0}


def _trace(example: Tensor) -> Captured:
    captured = torch.jit.trace(gate, (example,), check_trace=False)
    return captured, lambda: {"sees": _tidy(str(captured.code)), "graphs": 1}


def _script(example: Tensor) -> Captured:
    captured = torch.jit.script(gate)
    captured(example)
    return captured, lambda: {"sees": _tidy(str(captured.code)), "graphs": 1}


def _fx(example: Tensor) -> Captured:
    captured = torch.fx.symbolic_trace(gate)
    return captured, lambda: {"sees": _tidy(captured.code), "graphs": 1}


def _compile(example: Tensor) -> Captured:
    """Dynamo with a backend that keeps each graph it is handed and runs it as it is."""
    graphs: list[str] = []

    def keep(module: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        graphs.append(_tidy(module.code))
        return module.forward

    torch._dynamo.reset()
    captured = torch.compile(gate, backend=keep)
    captured(example)
    before = len(graphs)
    return captured, lambda: {"sees": "\n\n".join(graphs), "graphs": len(graphs), "first": before}


def _tidy(code: str) -> str:
    return "\n".join(line for line in code.strip().splitlines() if line.strip())


def _first(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""


def _messages(caught: list[warnings.WarningMessage]) -> list[str]:
    """What a learner would have seen; notices about the tools themselves are left out."""
    texts = [_first(str(item.message)) for item in caught if item.category.__name__ == TRACER]
    return list(dict.fromkeys(texts))


if __name__ == "__main__":
    print(json.dumps(run(), indent=1, ensure_ascii=False))
