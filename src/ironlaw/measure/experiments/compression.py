"""The digit classifier in fewer bits, and one matrix in many formats: what each does to answers, bytes and time on this machine.

NumPy is imported when a trial runs, and not before: the labs' page, which lists them, has none in a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ironlaw.engine.numerics.storage import csr_bytes, low_rank_bytes
from ironlaw.measure.devices.device import Call
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row, figure_row

BITS = (8, 7, 6, 5, 4, 3, 2)
SCALES: tuple[tuple[str | int, str], ...] = (("tensor", "a tensor"), ("channel", "a channel"), (32, "32 weights"))
SIDE = 1024
BATCHES = (1, 64)
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
WIDE_SHARES = (0.9, 0.99)  # at the larger batch, where a product of many non-zeros is long
RANK = 64
PLAIN = "fp32"  # what the others are compared with
SECONDS = 0.12  # a case is sampled for


def bits(bench: Bench) -> Iterator[Draft]:
    """Accuracy with its interval, divergence and flips, at each number of bits with three kinds of scale."""
    from ironlaw.measure.compression import damage, load, quantise, with_weights

    reader = load("mlp")
    cases = [(f"{b} bits, one scale {words}", (b, scale, words)) for scale, words in SCALES for b in BITS]
    for b, scale, words in bench.each(cases):
        result = damage(reader, with_weights(reader, partial(quantise, bits=b, scale=scale)))
        share = result.accuracy
        yield figure_row(
            "accuracy", f"{b} bits, one scale {words}", 100 * share.value, 100 * share.low, 100 * share.high, "%", int(share.trials),
            bits=b, scale=str(scale), kl=result.kl, flips=len(result.flips),
        )  # fmt: skip


@dataclass(frozen=True)
class Way:
    """One way to hold a matrix: its bytes, and the product with so many columns."""

    name: str
    label: str
    bytes: float
    product: Callable[[int], Call]
    batches: tuple[int, ...] = BATCHES


def formats(bench: Bench) -> Iterator[Draft]:
    """One matrix as FP64, FP32, FP16, INT8, with zeros, in compressed rows, half as wide and as two thin factors."""
    cases = [(f"{way.label}, batch {batch}", (way, batch)) for way in ways() for batch in way.batches]
    for way, batch in bench.each(cases):
        times = bench.time(way.product(batch), seconds=min(SECONDS, bench.seconds), least=5, warmup=1).row()
        yield case_row(way.name, f"{way.label}, batch {batch}", {"batch": batch, "bytes": way.bytes}, times)


def ways() -> list[Way]:
    import numpy as np

    rng = np.random.default_rng(0)
    dense = rng.standard_normal((SIDE, SIDE)).astype(np.float32)
    order = np.argsort(np.abs(dense), axis=None)

    def pruned(share: float) -> Any:
        """The smallest weights to zero; of each row the last stays, so that none is empty."""
        matrix = dense.copy()
        matrix.flat[order[: round(share * matrix.size)]] = 0.0
        matrix[:, -1] = dense[:, -1]
        return matrix

    def plain(matrix: Any) -> Callable[[int], Call]:
        def product(batch: int) -> Call:
            x = np.ones((matrix.shape[1], batch) if batch > 1 else matrix.shape[1], matrix.dtype)
            return lambda: matrix @ x

        return product

    half, factors = SIDE // 2, (dense[:, :RANK].copy(), dense[:RANK].copy())

    def thin(batch: int) -> Call:
        x = np.ones((SIDE, batch) if batch > 1 else SIDE, np.float32)
        return lambda: factors[0] @ (factors[1] @ x)

    kinds = [
        ("fp64", "FP64", np.float64),
        (PLAIN, "FP32", np.float32),
        ("fp16", "FP16", np.float16),
        ("int8", "INT8, sums in INT8", np.int8),
    ]
    ways = [Way(name, label, float(SIDE * SIDE * np.dtype(kind).itemsize), plain(dense.astype(kind))) for name, label, kind in kinds]
    ways.append(Way("zeros_90", "FP32, 90% zeros, dense kernel", 4.0 * SIDE * SIDE, plain(pruned(0.9))))
    for share in SHARES:
        matrix = pruned(share)
        size = csr_bytes(SIDE, float(np.count_nonzero(matrix)), 32, 32)
        batches = BATCHES if share in WIDE_SHARES else BATCHES[:1]
        ways.append(Way(f"csr_{100 * share:.0f}", f"compressed rows, {100 * share:.0f}% zeros", size, _sparse(matrix), batches))
    ways.append(Way("half_width", "half as wide and as high", 4.0 * half * half, plain(dense[:half, :half].copy())))
    ways.append(Way("low_rank", f"two factors of rank {RANK}", low_rank_bytes(SIDE, SIDE, RANK, 32), thin))
    return ways


def _sparse(matrix: Any) -> Callable[[int], Call]:
    """Compressed sparse rows in plain NumPy: multiply what is there, add up each row."""
    import numpy as np

    rows, columns = np.nonzero(matrix)
    values, starts = matrix[rows, columns], np.searchsorted(rows, np.arange(len(matrix)))

    def product(batch: int) -> Call:
        if batch == 1:
            x = np.ones(matrix.shape[1], matrix.dtype)
            return lambda: np.add.reduceat(values * x[columns], starts)
        wide, tall = np.ones((matrix.shape[1], batch), matrix.dtype), values[:, None]
        return lambda: np.add.reduceat(tall * wide[columns], starts, axis=0)

    return product
