"""Figures written down before the rooms were rebuilt: a change of structure leaves them as they are."""

from __future__ import annotations

import json
import math

import pytest
from how_thorough import RELEASE

from .before import STORED, curves, other_graphs, predictions, sweeps

WRITTEN = json.loads(STORED.read_text())


# larger sisters of others that are predicted
LARGER = ("llama3_70b", "llama3_8b", "gpt2_medium", "vit_l16", "resnet101", "wrn_70_16", "wrn_94_16")


def most_predictions():
    """All of them before a release."""
    return predictions(but=() if RELEASE else LARGER)


@pytest.mark.parametrize("make", [most_predictions, sweeps, curves, other_graphs])
def test_every_figure_is_as_it_was_written_down(make):
    """To twelve digits: the thirteenth may be the platform's own. `python -m tests.figures.before` compares all of them."""
    seen = dict(make())
    wrong = [
        key for key, values in seen.items()
        if len(values) != len(WRITTEN[key]) or not all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(values, WRITTEN[key], strict=True))
    ]  # fmt: skip
    assert seen and not wrong


def test_nothing_that_was_written_down_is_missing():
    assert len(WRITTEN) > 1200
