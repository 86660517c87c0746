"""The same Hypothesis examples every time."""

import hypothesis_profile  # noqa: F401
