"""Hypothesis runs the same examples every time, so that a mutant dies or survives for good: 25 of a property, 200 before a release."""

import os

from how_thorough import RELEASE
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

settings.register_profile(
    "engine",
    max_examples=200 if RELEASE else 25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault
)
# under mutation a failure need not be made small: the first one is enough
settings.register_profile("mutants", settings.get_profile("engine"), phases=(Phase.explicit, Phase.generate))
if not RELEASE:
    # Hypothesis also draws constants that it finds in our own modules, in all that happen to be imported: what else is collected would
    # decide which examples there are, and reading a thousand modules takes each process seconds.
    providers._get_local_constants = lambda: providers._local_constants
settings.load_profile(os.environ.get("IRONLAW_HYPOTHESIS", "engine"))
