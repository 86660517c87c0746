"""How long the attacks run: briefly in `make test`, at full length with IRONLAW_ATTACK=full (`make attack`)."""

import os
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings

FULL = os.environ.get("IRONLAW_ATTACK") == "full"
T = TypeVar("T")


def length(short: T, full: T) -> T:
    return full if FULL else short


def fuzzing(short: int, full: int) -> settings:
    """That many examples, the same ones every time. The first that fails is shown as it is: making it small would take minutes."""
    checks = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large, HealthCheck.large_base_example)
    phases = (Phase.explicit, Phase.generate)
    examples = length(short, full)
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=checks, phases=phases)
