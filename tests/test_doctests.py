"""The examples in docstrings of the public names run as they stand; those that need PyTorch are in tests/torch/test_doctests_torch.py."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

MODULES = (
    "ironlaw", "ironlaw.report.analyze", "ironlaw.report.predictions", "ironlaw.engine.device.prediction", "ironlaw.engine.device.predict",
    *(f"ironlaw.systems.questions.{name}" for name in (
        "capacity", "cluster", "levers", "memory", "privacy", "quantise", "queue", "scale", "slo",
    )),
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    tried = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried.attempted >= 2 and not tried.failed


def test_the_page_about_python_is_true():
    place = Path(__file__).parent.parent / "docs" / "python.md"
    tried = doctest.testfile(str(place), module_relative=False, encoding="utf-8")
    assert tried.attempted >= 10 and not tried.failed
