"""The H200's stored curves are those of its evidence: some twenty seconds of fitting. A processor's: tests/slow/test_refit.py."""

from refitted import check_refit


def test_the_stored_curves_are_those_of_the_evidence():
    check_refit("h200_sxm")
