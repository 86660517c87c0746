"""The experiments' ops in NumPy: FP32, whole arrays or block by block. Buffers are made once, so that only passes are timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ironlaw.measure.clock import Clock
from ironlaw.measure.devices.library import DROP, EPSILON, SCALE, SEED, SHIFT, Call, Shape, rows_in_block

TINY = 16  # elements


class NumPy:
    backend = "cpu"
    formats: tuple[str, ...] = ("fp32",)
    fused: tuple[str, ...] = ("blocked",)
    threads: int | None = None  # the element-wise ops take one; a product as many as its library likes

    def __init__(self) -> None:
        import numpy

        self.np = numpy
        self.name = f"NumPy {numpy.__version__}"
        self.clock = Clock()
        self.random = numpy.random.default_rng(SEED)
        self.tiny = self._tiny()

    def _tiny(self) -> dict[str, Call]:
        np = self.np
        a, b, out = self._array((TINY,)), self._array((TINY,)), self._array((TINY,))
        square = self._array((4, 4))
        return {
            "add": lambda: np.add(a, b, out=out),
            "mul": lambda: np.multiply(a, b, out=out),
            "relu": lambda: np.maximum(a, 0.0, out=out),
            "sum": lambda: np.sum(a),
            "matmul": lambda: np.matmul(square, square),
        }

    def _array(self, shape: tuple[int, ...]) -> Any:
        return self.random.standard_normal(shape, dtype=self.np.float32)

    def product(self, n: int, dtype: str) -> Call:
        a, b, out = self._array((n, n)), self._array((n, n)), self._array((n, n))
        return lambda: self.np.matmul(a, b, out=out)

    def three(self, shape: Shape, mode: str) -> Call:
        return self._passes([self._layer_norm, self._dropout, self._relu], shape, mode)

    def chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        known = {"scale": self._scale, "shift": self._shift}
        return self._passes([known[kind] for kind in kinds], shape, mode)

    def _passes(self, steps: Sequence[Callable[[Any, Any], Any]], shape: Shape, mode: str) -> Call:
        """Each step reads one array and writes another; between them lie two buffers, of the whole or of a block."""
        x, out = self._array(shape), self._array(shape)
        rows = shape[0] if mode == "eager" else rows_in_block(shape, 4)
        buffers = [self._array((rows, shape[1])) for _ in range(2)]

        def call() -> Any:
            for start in range(0, shape[0], rows):
                here = x[start : start + rows]
                for i, step in enumerate(steps):
                    last = i == len(steps) - 1
                    into = out[start : start + rows] if last else buffers[i % 2][: len(here)]
                    step(here, into)
                    here = into
            return out

        return call

    def _scale(self, x: Any, out: Any) -> None:
        self.np.multiply(x, self.np.float32(SCALE), out=out)

    def _shift(self, x: Any, out: Any) -> None:
        self.np.add(x, self.np.float32(SHIFT), out=out)

    def _relu(self, x: Any, out: Any) -> None:
        self.np.maximum(x, self.np.float32(0.0), out=out)

    def _layer_norm(self, x: Any, out: Any) -> None:
        np = self.np
        np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
        squares = np.einsum("ij,ij->i", out, out) / np.float32(x.shape[1])
        np.multiply(out, (1.0 / np.sqrt(squares + np.float32(EPSILON)))[:, None], out=out)

    def _dropout(self, x: Any, out: Any) -> None:
        np = self.np
        self.random.random(dtype=np.float32, out=out)
        np.greater_equal(out, np.float32(DROP), out=out)
        np.multiply(out, x, out=out)
        np.multiply(out, np.float32(1.0 / (1.0 - DROP)), out=out)
