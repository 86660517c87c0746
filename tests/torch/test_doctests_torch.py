"""The examples of docstrings that need PyTorch run as they stand."""

import doctest
import sys

from ironlaw.tracing import capture as function


def test_capture_s_example_runs():
    tried = doctest.testmod(sys.modules[function.__module__])
    assert tried.attempted >= 4 and not tried.failed
