"""Simulated figures and another seed, quickly: the claims of short simulations, and one lab before a release.

The whole, with ten seeds, is tests/release/test_other_seeds.py.
"""

import importlib.util
import re
from pathlib import Path

import pytest
from how_thorough import RELEASE

spec = importlib.util.spec_from_file_location("other_seeds", Path(__file__).parents[2] / "scripts" / "other_seeds.py")
other_seeds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other_seeds)
SRC = Path(__file__).parents[2] / "src" / "ironlaw"
OTHER_SOURCE = re.compile(r"^\s*(?:import|from) random\b|np\.random|numpy\.random|default_rng|\* \d{16,}", re.M)  # the last: home-made
LAB = ("lab_14_tail",) if RELEASE else ()
QUICK = (*LAB, "claim/hedge_costs_5", "claim/batch_formation_31ms", "claim/a_spike_passes")


def test_another_seed_confirms_what_is_shown():
    simulated, found = other_seeds.unconfirmed(QUICK, 1)
    assert simulated == [*LAB, "claim/hedge_costs_5"]
    assert not found


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("P99 is 510 ms.", "P99 is 590 ms.", [("510", "590")]),
        ("P99 is 510 ms.", "P99 is 511 ms.", []),  # at the edge of being rounded up
        ("about 500 ms", "about 600 ms", []),  # one digit is meant
        ("about 500 ms", "about 800 ms", [("about 500", "about 800")]),
        ("0.6–1.1 s", "about 900 ms", []),
        ("0.6–1.1 s", "1.2–2 s", [("0.6–1.1", "1.2–2")]),
        ("78.9%", "78.7%", [("78.9", "78.7")]),
    ],
)
def test_what_counts_as_the_same_figure(one, other, apart):
    assert [figures for _, figures in other_seeds.compared([one], [other])] == ([apart] if apart else [])


def test_nothing_that_a_page_shows_is_drawn_otherwise():
    """Which labs, claims and cards are simulated is found by what they draw from engine/streams.py, so there must be no other source.

    Measurements have their own, the variants of cards and the points of a study are drawn before anything is computed.
    """
    sources = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py") if OTHER_SOURCE.search(path.read_text("utf-8"))}
    elsewhere = {path for path in sources if not path.startswith("measure/")}
    assert elsewhere == {"recall/card_variants.py", "studies/axis.py", "studies/study_file.py"}


def test_other_words_are_not_the_same():
    assert list(other_seeds.compared(["It stays late."], ["It comes back."])) == [("It stays late.", ["other words"])]
