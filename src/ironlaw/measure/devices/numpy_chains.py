"""Chains of ops in NumPy: FP32, whole arrays or block by block. Buffers are made once, so that only passes are timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ironlaw.measure.devices.device import EAGER, Call, Shape
from ironlaw.measure.devices.thread_blocks import DROP, EPSILON, SCALE, SHIFT, rows_in_block

Step = Callable[[Any, Any], None]  # reads one array, writes another


class NumpyChains:
    def __init__(self, np: Any, random: Any) -> None:
        self.np, self.random = np, random
        self.steps: dict[str, Step] = {
            "scale": self.scale, "shift": self.shift, "relu": self.relu, "layer_norm": self.layer_norm, "dropout": self.dropout,
        }  # fmt: skip

    def call(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        """Between two steps lies one of two buffers, of the whole or of a block."""
        steps = [self.steps[kind] for kind in kinds]
        x, out = self.array(shape), self.array(shape)
        rows = shape[0] if mode == EAGER else rows_in_block(shape, 4)
        buffers = [self.array((rows, shape[1])) for _ in range(2)]

        def call() -> Any:
            for start in range(0, shape[0], rows):
                source = x[start : start + rows]
                for i, step in enumerate(steps):
                    last = i == len(steps) - 1
                    target = out[start : start + rows] if last else buffers[i % 2][: len(source)]
                    step(source, target)
                    source = target
            return out

        return call

    def array(self, shape: Sequence[int]) -> Any:
        return self.random.standard_normal(shape, dtype=self.np.float32)

    def scale(self, x: Any, out: Any) -> None:
        self.np.multiply(x, self.np.float32(SCALE), out=out)

    def shift(self, x: Any, out: Any) -> None:
        self.np.add(x, self.np.float32(SHIFT), out=out)

    def relu(self, x: Any, out: Any) -> None:
        self.np.maximum(x, self.np.float32(0.0), out=out)

    def layer_norm(self, x: Any, out: Any) -> None:
        np = self.np
        np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
        squares = np.einsum("ij,ij->i", out, out) / np.float32(x.shape[1])
        np.multiply(out, (1.0 / np.sqrt(squares + np.float32(EPSILON)))[:, None], out=out)

    def dropout(self, x: Any, out: Any) -> None:
        np = self.np
        self.random.random(dtype=np.float32, out=out)
        np.greater_equal(out, np.float32(DROP), out=out)
        np.multiply(out, x, out=out)
        np.multiply(out, np.float32(1.0 / (1.0 - DROP)), out=out)
