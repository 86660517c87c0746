"""Stored curves are those of the evidence: some twenty seconds of fitting for the H200, five for a processor."""

import pytest
from refitted import check_refit


@pytest.mark.parametrize("slug", ["h200_sxm", "neoverse_n1_2core"])
def test_the_stored_curves_are_those_of_the_evidence(slug):
    check_refit(slug)
