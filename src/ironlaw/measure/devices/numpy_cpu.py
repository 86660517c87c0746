"""A processor with NumPy alone: products by its BLAS, streams by one thread, and copies by all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import BLOCKED, Call, Case, Device, Shape, Unsupported
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.devices.numpy_chains import NumpyChains
from ironlaw.measure.devices.thread_blocks import SEED
from ironlaw.measure.software_host import cores

LEAST_SPREAD = 2**20  # elements from which a hand-out to threads costs little beside the copy


class NumpyCpu(Device):
    def __init__(self) -> None:
        super().__init__("numpy", KINDS["cpu"], formats=("fp32", "fp64"))
        import numpy

        self.np: Any = numpy
        self.random: Any = numpy.random.default_rng(SEED)
        self.pool = ThreadPoolExecutor(cores())

    def label(self) -> str:
        return f"NumPy {self.np.__version__}"

    def threads(self) -> int:
        return cores()

    def fused_modes(self) -> tuple[str, ...]:
        return (BLOCKED,)

    def layernorm_dropout_relu(self, shape: Shape, mode: str) -> Call:
        return self.pointwise_chain(("layer_norm", "dropout", "relu"), shape, mode)

    def pointwise_chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        return NumpyChains(self.np, self.random).call(kinds, shape, mode)

    def array(self, *shape: int) -> Any:
        return self.random.standard_normal(shape, dtype="float32")

    def gemm(self, fmt: str, n: int) -> Call:
        if fmt not in self.formats:
            raise Unsupported(f"NumPy has no BLAS for {fmt} matrices")
        a, b, out = (self.np.full((n, n), 0.5, FORMATS[fmt].numpy) for _ in range(3))
        return lambda: self.np.matmul(a, b, out=out)

    def stream(self, op: str, numel: int) -> Call:
        x, out = self.np.full(numel, 1.5, "float32"), self.np.full(numel, 0.5, "float32")
        if op == "copy":
            return lambda: self.np.copyto(out, x)
        y = self.np.full(numel, 2.5, "float32")
        return lambda: self.np.add(x, y, out=out)

    def spread_stream(self, numel: int) -> Call | None:
        if numel < LEAST_SPREAD or cores() == 1:
            return None
        x, out = self.np.full(numel, 1.5, "float32"), self.np.full(numel, 0.5, "float32")
        edges = [numel * i // cores() for i in range(cores() + 1)]
        parts = [(out[a:b], x[a:b]) for a, b in pairwise(edges)]
        return lambda: list(self.pool.map(lambda part: self.np.copyto(*part), parts))

    def launches(self) -> dict[str, Call]:
        np = self.np
        x, y, total = self.array(64), self.array(64), self.array(64)
        square, other = self.array(8, 8), self.array(8, 8)
        return {
            "add": lambda: x + y, "mul": lambda: x * y, "copy": x.copy, "relu": lambda: np.maximum(x, 0), "tanh": lambda: np.tanh(x),
            "add_": lambda: np.add(total, y, out=total), "mul_scalar": lambda: x * 1.5, "pow2": lambda: np.square(x),
            "sum": x.sum, "mean": x.mean, "matmul": lambda: square @ other, "transpose_contiguous": square.T.copy,
            "cat": lambda: np.concatenate((x, y)), "view": lambda: square.reshape(64), "empty": lambda: np.empty(64, "float32"),
        }  # fmt: skip

    def cases(self) -> Iterator[Case]:
        np = self.np
        for m, n, k in (
            (1, 768, 768),
            (1, 3072, 768),
            (32, 768, 768),
            (128, 768, 768),
            (128, 3072, 768),
            (512, 768, 768),
            (64, 1024, 1024),
        ):

            def product(m: int = m, n: int = n, k: int = k) -> Call:
                x, w = self.array(m, k), self.array(n, k)
                return lambda: x @ w.T

            yield Case("linear", dict(m=m, n=n, k=k, bias=0, dtype="fp32"), product)
        unary = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "mul_scalar": lambda x: x * 1.5, "copy": np.copy}
        for power in (10, 14, 17, 20, 22, 24):
            for op, function in unary.items():

                def one(size: int = 2**power, function: Any = function) -> Call:
                    x = self.array(size)
                    return lambda: function(x)

                yield Case(op, dict(numel=2**power, dtype="fp32"), one)
            for op, function in (("add", np.add), ("mul", np.multiply)):

                def two(size: int = 2**power, function: Any = function) -> Call:
                    x, y = self.array(size), self.array(size)
                    return lambda: function(x, y)

                yield Case(op, dict(numel=2**power, dtype="fp32"), two)
        for rows, cols in ((64, 768), (512, 768), (4096, 1024)):

            def total(rows: int = rows, cols: int = cols) -> Call:
                x = self.array(rows, cols)
                return lambda: x.sum(-1)

            yield Case("sum", dict(rows=rows, cols=cols, dtype="fp32"), total)
