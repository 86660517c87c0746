"""The labs' experiments at a size that takes no time: the same rows, from less work."""

import pytest

from ironlaw.measure.experiments import batches, collectives_trial, compression, memory_trial, trials, workers

SIZES = {
    trials: {"SHAPES": ((64, 64), (128, 256)), "WIDE": (256, 256), "SIZES": (32, 64), "OPS": 10, "BATCHES": (1, 2)},
    collectives_trial: {"SIZES": {collectives_trial.FREE: {2: (1 << 10,)}, collectives_trial.PACED: {2: (1 << 10, 1 << 14)}}},
    compression: {"SIDE": 256},
    batches: {"WIDTH": 256, "SECONDS": 0.1},
    workers: {"ITEMS": 4},
    memory_trial: {"MODELS": {"mlp8_1024": 2}},  # a processor without BF16 takes minutes for the others
}


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, sizes in SIZES.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)
