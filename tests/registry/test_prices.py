"""registry/price: every price is a real machine's, with its vendor, its source and a day."""

import re

import pytest

from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder, slugs
from ironlaw.registry.prices import GIVEN, load, price, prices, prices_of

GOOD = 'vendor = "X"\n[hour]\nvalue = "3 USD"\nsource = "https://x.example"\ndate = "2026-01-02"\n'


@pytest.mark.parametrize("slug", prices())
def test_each_price_says_whose_and_when(slug):
    one = load(folder("price") / f"{slug}.toml")
    assert slug in slugs("hardware") and 0.1 < one.per_hour < 20
    assert one.vendor and "read on" in one.source and "http" in one.source and re.fullmatch(r"20\d\d-\d\d-\d\d", one.date)


def test_a_price_that_was_given_goes_first():
    known = prices_of(["h200_sxm", "h100_sxm", "cortex_m4"], {"h100_sxm": 1.5})
    assert known["h100_sxm"].per_hour == 1.5 and known["h100_sxm"].vendor == GIVEN
    assert known["h200_sxm"] == price("h200_sxm") and "cortex_m4" not in known and price("cortex_m4") is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('vendor = "X"', ""), "no vendor"), (('value = "3 USD"', ""), "no value"), (('"3 USD"', '"0 USD"'), "above 0"),
        (('"3 USD"', '"3 W"'), "USD is expected"), (('source = "https://x.example"', ""), "no source"),
        (("[hour]", "[day]"), "[hour] is None"),
    ],
)  # fmt: skip
def test_a_bad_price_is_refused(tmp_path, change, words):
    path = tmp_path / "t4.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(BadRegistry, match=re.escape(words)):
        load(path)
    path.write_text(GOOD)
    assert load(path).per_hour == 3.0


def test_a_price_of_no_machine_is_refused(tmp_path):
    (tmp_path / "h900.toml").write_text(GOOD)
    with pytest.raises(BadRegistry, match="not named after a machine"):
        load(tmp_path / "h900.toml")
