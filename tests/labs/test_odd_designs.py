"""A saved design that a lab can't use in full, from another machine, another version or an import: the instrument opens, and says so."""

import pytest
from headless import Page, parts
from ledger_at_hand import open_ledger
from test_lab_shape import SLUGS

from ironlaw import kit
from ironlaw.kit import page as plain
from ironlaw.kit.instrument import SET_ASIDE
from ironlaw.kit.lab import folder
from ironlaw.kit.page_host import using

ODD = ["this_machine", "../../x", [], {"a": 1}, -1, 1e308, True, "llama3_8b", [[]], 10**30, 0.5, "", float("-0.0")]


def instruments(lab):
    return {name: element.widget for name, element in lab.elements.items() if element.widget.kind == "instrument"}


def opened(ledger, slug):
    host = plain.Page(folder(slug), ledger)
    with using(host):
        lab = kit.open(slug)
    parts(host, lab)  # fails where a cell does
    return lab


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug != "_template"])
def test_odd_values_never_take_an_instrument_away(slug, completed, tmp_path):
    with open_ledger(completed(slug, tmp_path)) as ledger:
        lab = opened(ledger, slug)
        dials = {name: [dial["id"] for dial in piece.spec["dials"]] for name, piece in instruments(lab).items()}
        assert dials
        for turn in range(2):
            saved = {
                name.removesuffix(".instrument"): {dial: ODD[(place * 5 + turn * 4) % len(ODD)] for place, dial in enumerate(listed)}
                for name, listed in dials.items()
            }
            ledger.append(slug, "design", {"dials": saved})
            for name, piece in instruments(opened(ledger, slug)).items():
                assert piece.view.get("figures"), (name, piece.view.get("error"))
                assert piece.view["error"]["message"].startswith(SET_ASIDE)


def test_a_design_of_a_machine_that_is_not_here(completed, tmp_path):
    """Saved on "This machine", carried to another: the other dials stand as saved, and turning one ends the message."""
    with open_ledger(completed("lab_11_roofline", tmp_path)) as ledger:
        pin = {"name": "mine", "values": {"device": "this_machine", "dtype": "fp32", "shape": "square", "n": 64, "m": 64, "k": 64}}
        ledger.append("lab_11_roofline", "design", {"dials": {"act1": {"device": "this_machine", "n": 4096, "pins": [pin]}}})
        page = Page(ledger, "lab_11_roofline")
        view = page.piece("act1.instrument").view
        assert "this_machine" in view["error"]["message"] and view["figures"]
        standing = page.lab.instruments["act1"].values
        assert standing["n"] == 4096 and standing["device"] != "this_machine" and len(standing["pins"]) == 1
        assert page.turn("act1", n=2048)["error"] is None
