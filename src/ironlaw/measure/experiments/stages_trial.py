"""A pipeline in four stages on one image: inflate, resize, a model of products, the five best. Only the model gets faster.

Stages alone and the whole are timed in turn, round by round: a machine that slows down slows all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from ironlaw.measure.clock import Timing, halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row

SIDE, SMALL, OUTPUTS = 224, 32, 1000
WIDTH, LAYERS = 1024, 8
ROUNDS = 15  # at the least
SEED = 12
STAGES = {"inflate": "inflating the image", "resize": "resizing it", "best": "the five best"}
# what the model stage computes in, and how wide it is; the outputs stay, so that the last stage has the same work
VARIANTS = {
    "fp64": ("FP64", WIDTH),
    "fp32": ("FP32", WIDTH),
    "half": ("FP32, half as wide", WIDTH // 2),
    "tenth": ("FP32, a tenth as wide", WIDTH // 10),
}
Stage = Callable[[Any], Any]


def picture() -> bytes:
    """An image, compressed: a slope with noise, so that inflating it is work."""
    import numpy as np

    slope = np.add.outer(np.arange(SIDE), np.arange(SIDE))[:, :, None] * np.array([1, 2, 3]) // 4
    noise = np.random.default_rng(SEED).integers(0, 6, (SIDE, SIDE, 3))
    return zlib.compress(((slope + noise) % 256).astype(np.uint8).tobytes(), 6)


def inflate(packed: bytes) -> Any:
    import numpy as np

    return np.frombuffer(zlib.decompress(packed), np.uint8).reshape(SIDE, SIDE, 3)


def resize(image: Any) -> Any:
    """Resizes to a row of SMALL × SMALL brightnesses, mean 0 and variance 1: each is the mean of a square."""
    import numpy as np

    grey = image.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
    square = SIDE // SMALL
    small = grey.reshape(SMALL, square, SMALL, square).mean(axis=(1, 3))
    return ((small - small.mean()) / small.std()).reshape(1, -1)


def model(dtype: str, width: int) -> Stage:
    """LAYERS products with a ReLU after each, and a head of OUTPUTS."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    sizes = [SMALL * SMALL, *[width] * LAYERS, OUTPUTS]
    weights = [(draw.standard_normal((a, b)) * (2.0 / a) ** 0.5).astype(dtype) for a, b in pairwise(sizes)]

    def run(row: Any) -> Any:
        x = row.astype(dtype)
        for weight in weights[:-1]:
            x = np.maximum(x @ weight, 0)
        return (x @ weights[-1])[0]

    return run


def best(scores: Any) -> Any:
    import numpy as np

    return np.argsort(scores)[::-1][:5]


def pipeline(variant: str) -> dict[str, Stage]:
    """The four stages, in order."""
    dtype = "float64" if variant == "fp64" else "float32"
    return {"inflate": inflate, "resize": resize, "model": model(dtype, VARIANTS[variant][1]), "best": best}


def rows(bench: Bench) -> Iterator[Draft]:
    """Each variant: its stages one by one, and the whole."""
    packed = picture()
    pipelines = {variant: pipeline(variant) for variant in VARIANTS}
    calls = {key: call for variant, stages in pipelines.items() for key, call in _calls(variant, stages, packed).items()}
    samples: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    clock = bench.clock
    assert clock is not None
    for _ in bench.each([("stages and the whole, in turn", None)]):
        began, rounds = clock.now(), 0
        while rounds < ROUNDS or clock.now() - began < bench.seconds * len(VARIANTS):
            halt(bench.stop)
            for key, call in calls.items():
                start = clock.now()
                call()
                samples[key].append(clock.now() - start)
            rounds += 1
    for (variant, stage), times in samples.items():
        yield case_row(stage, _label(variant, stage), {"variant": variant}, Timing.of(times).row())


def _label(variant: str, stage: str) -> str:
    if stage in ("model", "whole"):
        return f"{'the model' if stage == 'model' else 'the whole, the model'} in {VARIANTS[variant][0]}"
    return STAGES[stage]


def _calls(variant: str, stages: dict[str, Stage], packed: bytes) -> dict[tuple[str, str], Callable[[], Any]]:
    """Every stage with what it gets from the one before, computed once; and the whole. Only the model differs between variants."""

    def whole() -> Any:
        x: Any = packed
        for stage in stages.values():
            x = stage(x)
        return x

    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    x: Any = packed
    for name, stage in stages.items():
        if variant == "fp64" or name == "model":
            calls[variant, name] = partial(stage, x)
        x = stage(x)
    calls[variant, "whole"] = whole
    return calls
