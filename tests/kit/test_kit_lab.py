"""A lab in a session: gates, contexts, states, saving."""

import pytest
from as_browser import send

from ironlaw import kit
from ironlaw.errors import UnknownName
from ironlaw.kit import context, frame, lab_parts
from ironlaw.kit.lab import LABS, Lab
from ironlaw.kit.page import Page
from ironlaw.labs._template import act1 as instrument
from ironlaw.labs.review import review
from ironlaw.ledger import open_ledger


@pytest.fixture
def shown(lab):
    lab.states("act1", "act1_reflection", "context", "readouts")
    lab_parts.lock(lab, "act1")
    lab_parts.instrument(lab, "act1", instrument.dials(lab), lambda values: instrument.view(lab, values))
    return lab


def piece(lab: Lab, name: str):
    return lab.elements[name].widget


def commit(lab: Lab, choice=1):
    return send(piece(lab, "act1"), choice=choice, confidence=3, commit=1)


def test_opening_is_an_event_once(lab, ledger):
    kit.open("_template", ledger)
    assert [event.kind for event in ledger.events("_template")] == ["opened"]


def test_a_lab_without_a_number_is_just_a_lab(lab):
    assert lab.name == "Lab"


def test_an_unknown_lab_names_the_known():
    with pytest.raises(UnknownName, match="lab_01_magnitude"):
        kit.open("lab_01_magnitud")


def test_committing_opens_the_instrument_at_once(shown):
    assert set(piece(shown, "act1.instrument").view) == {"seq"}
    commit(shown)
    view = piece(shown, "act1.instrument").view
    roles = [mark.get("role") for mark in view["figures"][0]["marks"]]
    assert roles.count("prediction") == 1 and roles.count("truth") == 1  # the reveal is drawn on it
    assert shown.states("act1")[0]() == 1 and shown.correct("act1") is True


def test_a_reload_finds_it_open(shown, ledger):
    commit(shown)
    again = kit.open("_template", ledger)
    lab_parts.instrument(again, "act1", instrument.dials(again), lambda values: instrument.view(again, values))
    assert again.prediction("act1") and again.instruments["act1"].piece.view["figures"]


def test_a_new_attempt_moves_the_mark(shown):
    commit(shown, 0)
    first = piece(shown, "act1.instrument").view["figures"][0]["marks"]
    send(piece(shown, "act1"), choice=2, confidence=3, commit=2, again=1)
    second = piece(shown, "act1.instrument").view["figures"][0]["marks"]
    assert first != second and shown.choice("act1").id == "e4" and shown.prediction("act1").attempt == 2


def test_the_context_is_an_event_and_the_lab_opens_there_next_time(shown, ledger):
    commit(shown)
    before = piece(shown, "act1.instrument").view["figures"]
    send(piece(shown, "act1.context"), value="pi5")
    assert shown.current_context.slug == "pi5" and ledger.track() == "pi5"
    assert piece(shown, "act1.instrument").view["figures"] != before  # another bar is emphasised
    assert kit.open("_template", ledger).current_context.slug == "pi5"
    send(piece(shown, "act1.context"), value="pi5")
    assert len(ledger.events(kind="context")) == 1  # choosing the same again is no event


def test_the_context_is_chosen_in_the_instrument_once_that_is_open(shown):
    assert piece(shown, "act1.context").spec["hidden"]
    commit(shown)
    assert not piece(shown, "act1.context").spec["hidden"]


def test_the_toggles_of_all_instruments_are_in_step(shown, ledger):
    commit(shown)
    shown.words.sections["act1.more.instrument"] = "Another one"
    lab_parts.instrument(shown, "act1", instrument.dials(shown), lambda values: instrument.view(shown, values), panel="more")
    send(piece(shown, "act1.more.context"), value="pi5")
    assert piece(shown, "act1.context").state["value"] == "pi5" and len(ledger.events(kind="context")) == 1


def test_a_machine_that_is_measured_is_a_context_at_once(ledger, monkeypatch):
    """The page had to be loaded again."""
    page = Page(LABS / "_template", ledger)
    page.open()
    commit(page.lab)
    page.settle()
    monkeypatch.setattr(context, "known_local", lambda: context.hardware("pi5"))
    page.lab.meet_this_machine()
    assert "act1_instrument" in page.settle()["cells"]
    assert [option["value"] for option in piece(page.lab, "act1.context").spec["options"]] == ["h100_sxm", "pi5", "this_machine"]
    send(piece(page.lab, "act1.context"), value="this_machine")
    assert page.lab.current_context.slug == "this_machine" and not page.failed


def test_an_unknown_context_is_refused_beside_the_toggle(shown):
    assert "no context 'moon'" in send(piece(shown, "act1.context"), value="moon")["error"]["message"]
    assert shown.current_context.slug == "h100_sxm"


def test_states_change_only_when_their_value_does(lab):
    (getter,) = lab.states("act1")
    calls = []
    lab._states.of["act1"] = (getter, calls.append)
    lab.notify()
    assert calls == []
    lab.ledger.commit_prediction("_template", "act1", "e2", 1e2, 3, True, 1)
    lab.notify()
    assert calls == [1]


def finish(lab: Lab, ledger) -> None:
    """Answer the last question, go to the end, and save."""
    lab_parts.reflect(lab, "act1")
    send(piece(lab, "act1_reflection"), choice=0, answer=1)
    frame.save_button(lab, lambda: {"x": 1})
    assert ledger.design("_template") is None
    send(piece(lab, "save"), act=1)


def test_only_the_button_saves_and_only_what_is_complete(shown, ledger):
    commit(shown)
    frame.save_button(shown, lambda: {"x": 1})
    assert "Answer every question first" in send(piece(shown, "save"), act=1)["error"]["message"] and not ledger.designs()
    finish(shown, ledger)
    saved = ledger.design("_template")
    assert saved["x"] == 1 and saved["dials"] == {"act1": piece(shown, "act1.instrument").state["dials"]}
    receipt = frame.receipt(shown, {"x": 1})
    assert receipt.saved and receipt.time and receipt.where == ledger.where() and not receipt.changed
    piece(shown, "save").refresh()
    assert len(ledger.events("_template", "design")) == 1  # the same press is one design


def test_turning_a_dial_after_saving_is_said_and_not_written(shown, ledger):
    commit(shown)
    finish(shown, ledger)
    send(piece(shown, "act1.instrument"), dials={"a": "pi5", "b": "h100_sxm"})
    send(piece(shown, "act1.context"), value="pi5")
    assert frame.receipt(shown, {"x": 1}).changed and frame.receipt(shown, {"x": 2}).changed
    assert len(ledger.events("_template", "design")) == 1


def show(ledger) -> Lab:
    lab = kit.open("_template", ledger)
    lab.states("act1", "act1_reflection", "act1.claims", "progress", "context", "readouts")
    frame.header(lab), lab_parts.lock(lab, "act1")
    lab_parts.instrument(lab, "act1", instrument.dials(lab), lambda values: instrument.view(lab, values))
    return lab


def test_another_browser_begins_with_the_saved_dials(shown, ledger):
    commit(shown)
    send(piece(shown, "act1.instrument"), dials={"a": "pi5", "b": "pi5"})
    finish(shown, ledger)
    again = piece(show(ledger), "act1.instrument")
    assert again.state["dials"] == {"a": "pi5", "b": "pi5"} and again.spec["store"].endswith(ledger.events(kind="design")[0].id)
    assert again.spec["store"] == piece(shown, "act1.instrument").spec["store"]  # what the first browser kept before is done with


def test_dials_of_an_import_may_be_anything(shown, ledger):
    commit(shown)
    for dials in (5, {"act1": 5}, {"act1": {"a": ["pi5"], "b": None, "x": {}}}):
        ledger.append("_template", "design", {"dials": dials})
        again = show(ledger)
        assert piece(again, "act1.instrument").state["dials"] == {"a": "h100_sxm", "b": "pi5"} and frame.receipt(again, {}).saved


def test_a_context_leaves_the_dials_where_they_are(shown):
    commit(shown)
    place = piece(shown, "act1.instrument").spec["store"]
    send(piece(shown, "act1.instrument"), dials={"a": "pi5", "b": "pi5"})
    send(piece(shown, "act1.context"), value="pi5")
    assert piece(shown, "act1.instrument").state["dials"] == {"a": "pi5", "b": "pi5"}
    assert piece(shown, "act1.instrument").spec["store"] == place


def test_a_second_window_follows_when_it_looks(shown, ledger):
    """Committed, gone on, chosen, saved in one; the other looks, and stands where the first does."""
    other = show(ledger)
    assert set(piece(other, "act1.instrument").view) == {"seq"} and not other.is_open("act1.claims")
    commit(shown)
    send(piece(shown, "act1.context"), value="pi5")
    frame.go_on(shown, "act1.instrument")
    send(piece(shown, "act1.instrument.next"), act=1)
    assert not other.is_open("act1.claims")
    stamp = send(piece(other, "follow"), look=1)["stamp"]
    assert stamp == len(ledger.events("_template")) and piece(other, "act1").view["committed"]["choice"] == 1
    assert piece(other, "act1.instrument").view["figures"] and other.is_open("act1.claims") and other.current_context.slug == "pi5"
    assert piece(other, "act1.context").state["value"] == "pi5"
    send(piece(shown, "act1.instrument"), dials={"a": "pi5", "b": "pi5"})
    finish(shown, ledger)
    send(piece(other, "follow"), look=2)
    assert piece(other, "act1.instrument").state["dials"] == {"a": "pi5", "b": "pi5"}


def test_places_open_one_by_one(shown, ledger):
    open_places = lambda: [place.name for place in shown.places if shown.is_open(place.name)]  # noqa: E731
    assert open_places() == ["act1.lock"]
    commit(shown)
    assert open_places() == ["act1.lock", "act1.instrument"]
    for name in ("act1.instrument", "act1.claims"):
        frame.go_on(shown, name)
        send(piece(shown, f"{name}.next"), act=1)
    assert open_places()[-1] == "act1.reflect" and frame.go_on(shown, "act1.reflect") == ""  # an answer leads on there
    send(piece(shown, "act1.instrument.next"), act=2)
    assert len(ledger.events(kind="step")) == 2  # going back and on again is not another step
    lab_parts.reflect(shown, "act1")
    send(piece(shown, "act1_reflection"), choice=1, answer=1)
    assert open_places()[-1] == "act1.peek" and kit.open("_template", ledger).is_open("act1.peek")


def test_a_second_attempt_is_made_with_the_answer_in_sight(shown):
    commit(shown, 0)
    send(piece(shown, "act1"), choice=1, confidence=5, commit=2, again=1)
    assert shown.holds("act1") and shown.correct("act1") is False and shown.confidence("act1") == 3
    assert "with the answer in sight" in lab_parts.reveal(shown, "act1", "", "", {"gap": ""})
    assert "missed" not in frame.hud(shown, [], {})


def test_a_ledger_that_can_t_be_opened_is_said_in_the_page(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRONLAW_LEDGER", str(tmp_path / "file" / "ledger.db"))
    lab = kit.open("_template")
    assert "can&#x27;t be opened" in frame.header(lab) and "IRONLAW_LEDGER" in lab.trouble
    lab_parts.lock(lab, "act1")
    assert "nothing was committed" in commit(lab)["error"]["message"]


def test_a_reset_begins_anew(shown, ledger):
    commit(shown)
    ledger.reset()
    assert kit.open("_template", open_ledger(ledger.where())).prediction("act1") is None


def header(page) -> str:
    return frame.header(page) if isinstance(page, Lab) else page.header()


def test_the_header_says_what_happened_to_the_ledger(tmp_path):
    """In a lab and in the review, as text: the reason may quote what a damaged file holds."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for page in (kit.open("lab_01_magnitude", ledger), review.open(ledger=ledger)):
            assert "Something happened" not in header(page)
        ledger.notice = "Your ledger was damaged (<b>)."
        for page in (kit.open("lab_01_magnitude", ledger), review.open(ledger=ledger)):
            assert "Something happened to your ledger" in header(page) and "(&lt;b&gt;)" in header(page)
