"""The Piece without a browser: states, views, errors, and what crosses to JavaScript."""

import json
import re

import numpy as np
import pytest

from ironlaw.errors import BadValue
from ironlaw.widget.assets import NOTEBOOK, SCRIPTS, script, style, theme
from ironlaw.widget.colours import COLOURS
from ironlaw.widget.piece import Piece, plain, wire
from ironlaw.widget.piece_kinds import KINDS

DIALS = [{"id": "batch", "type": "log", "label": "Batch", "min": 1, "max": 256, "value": 1}]


def instrument(compute, **spec):
    return Piece("instrument", {"id": "i", "dials": DIALS, "locked": None, **spec}, compute)


def test_compute_runs_at_creation_and_on_every_change_of_state():
    seen = []

    def double(state):
        seen.append(state["dials"]["batch"])
        return {"formula": str(2 * state["dials"]["batch"])}

    piece = instrument(double)
    assert piece.view == {"formula": "2", "seq": 0}
    piece.state = {"dials": {"batch": 8}, "seq": 1}
    assert piece.view == {"formula": "16", "seq": 1}
    piece.refresh()
    assert seen == [1, 8, 8]


def test_the_first_state_comes_from_the_spec():
    assert KINDS["instrument"]({"dials": DIALS}) == {"dials": {"batch": 1}}
    assert KINDS["toggle"]({"options": [{"value": "cloud"}, {"value": "tiny"}]}) == {"value": "cloud"}
    assert KINDS["toggle"]({"options": [{"value": "cloud"}], "value": "tiny"}) == {"value": "tiny"}
    assert KINDS["lock"]({})["commit"] == KINDS["number"]({})["commit"] == KINDS["reflect"]({})["answer"] == 0


def test_a_given_state_goes_over_the_first_one():
    piece = Piece("lock", {"id": "q"}, None, {"choice": 2})
    assert piece.state == {"choice": 2, "confidence": None, "commit": 0, "again": 0}


def test_a_locked_instrument_computes_nothing_until_it_is_unlocked():
    calls = []
    piece = instrument(lambda state: calls.append(1) or {"formula": "secret"}, locked="Commit first.")
    assert piece.view == {"seq": 0}
    assert not calls
    piece.state = {"dials": {"batch": 4}, "seq": 1}
    assert "secret" not in json.dumps([piece.view, piece.spec, piece.state])
    piece.unlock()
    assert piece.view["formula"] == "secret"


def test_refusals_are_told_at_the_control():
    def refuse(state):
        raise BadValue("batch 7 is odd; take 8")

    assert instrument(refuse).view["error"] == {"dial": None, "message": "batch 7 is odd; take 8"}

    def blame(state):
        raise BadValue("no", "batch")

    assert instrument(blame).view["error"]["dial"] == "batch"


def test_a_bug_is_told_and_logged_and_the_piece_goes_on(caplog):
    def fail(state):
        return {"formula": str(1 / (state["dials"]["batch"] - 2))}

    piece = instrument(fail)
    piece.state = {"dials": {"batch": 2}, "seq": 1}
    assert "ZeroDivisionError" in piece.view["error"]["message"]
    assert "could not compute" in caplog.text
    piece.state = {"dials": {"batch": 3}, "seq": 2}
    assert piece.view == {"formula": "1.0", "seq": 2}


def test_an_unknown_kind_is_named_with_the_known_ones():
    with pytest.raises(BadValue, match=r"'gauge'.*instrument, lock"):
        Piece("gauge", {})


def test_plain_is_what_json_carries():
    given = {"a": (1, 2.5), "b": float("nan"), "c": np.float64(3.0), "d": np.array([1, 2]), 5: {"x"}, "e": True, "f": None}
    assert plain(given) == {"a": [1, 2.5], "b": None, "c": 3.0, "d": [1, 2], "5": ["x"], "e": True, "f": None}
    json.dumps(plain(given), allow_nan=False)
    assert plain({"p": "instrument", "q": object}) == {"p": "instrument", "q": str(object)}


def test_the_script_is_one_module_without_imports_or_addresses():
    text = script(NOTEBOOK)
    assert text.count("export default") == 1
    assert not re.search(r"^\s*import\b", text, re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(SCRIPTS) == len(set(SCRIPTS))


def test_every_kind_has_its_renderer():
    drawn = set(re.findall(r"^function (\w+)Piece\(ctx\)", script(), re.MULTILINE))
    assert drawn == set(KINDS)


def test_the_styles_load_nothing_and_know_every_colour():
    for text in (style(), theme()):
        assert "url(" not in text
        assert "@import" not in text
    for colour in COLOURS:
        assert f".c-{colour} " in style() or f".c-{colour}," in style(), colour
    assert "--il-ink:" in style()
    assert "--il-ink:" in theme()


def _contrast(one, other):
    def light(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        return sum(
            w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for w, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True)
        )

    bright, dim = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_colours_reach_aa_on_page_and_panel(scheme):
    tokens = {name: (a, b)[scheme] for name, a, b in re.findall(r"--il-([a-z-]+): light-dark\((#\w{6}), (#\w{6})\)", theme())}
    words = [
        "ink",
        "quiet",
        "accent",
        "memory",
        "compute",
        "overhead",
        "good",
        "warn",
        "fail",
        "ridge",
        "cloud",
        "edge-device",
        "mobile",
        "tiny",
        "here",
    ]
    for name in words:
        for ground in ("page", "panel"):
            if name == "ridge" and ground == "panel":
                continue  # pictures stand on the page
            assert _contrast(tokens[name], tokens[ground]) >= 4.5, (name, ground)
    for name in ("good", "warn", "fail", "ink", "quiet"):
        for tone in ("good", "warn", "fail"):
            if name in (tone, "ink", "quiet"):
                assert _contrast(tokens[name], tokens[f"{tone}-page"]) >= 4.5, (name, tone)
    assert _contrast(tokens["edge"], tokens["page"]) >= 3  # the outline of a control


def test_each_figure_crosses_as_a_text_of_its_own():
    view = {"figures": [{"id": "a", "text": "3.35\u202fTB/s"}, {"id": "b"}], "note": "n", "seq": 3}
    piece = instrument(lambda state: {key: value for key, value in view.items() if key != "seq"})
    sent = wire(piece.view)
    assert [json.loads(text) for text in sent["figures"]] == view["figures"] == piece.view["figures"]
    assert sent["note"] == "n" and wire({"seq": 1}) == {"seq": 1}
