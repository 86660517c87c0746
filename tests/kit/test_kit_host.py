"""The seam between the kit and the page that it draws on: whatever page it is given, or none."""

from ironlaw import kit
from ironlaw.kit import lab_parts, page_host
from ironlaw.widget.piece import OPEN, Piece


def square(state):
    return {"figures": [{"id": "a", "y": state["value"] ** 2}], "note": str(state["value"])}


def piece() -> Piece:
    return Piece("toggle", {"label": "n", "options": [{"value": 2}, {"value": 3}]}, square)


def test_setting_what_is_there_already_computes_nothing():
    calls = []
    made = Piece("toggle", {"options": [{"value": 1}]}, lambda state: calls.append(1) or {})
    made.state, made.spec = dict(made.state), dict(made.spec)
    assert len(calls) == 1
    made.change(made.spec, made.state)  # both at once asks for an answer in any case
    assert len(calls) == 2 and made in OPEN


class Recorder:
    """A host of a few lines, which keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def html(self, text):
        self.asked.append("html")
        return text

    def state(self, value):
        self.asked.append("state")
        return (lambda: value), (lambda new: None)

    def element(self, piece):
        self.asked.append("element")
        return type("Shown", (), {"widget": piece, "__str__": lambda self: f"[{piece.kind}]"})()

    def ledger(self):
        raise AssertionError("a ledger was passed")


def test_a_lab_draws_on_whatever_page_it_is_given(ledger):
    page = Recorder()
    with page_host.using(page):
        lab = kit.open("_template", ledger)
        lab.states("act1")
        text = lab_parts.lock(lab, "act1")
    assert page.asked == ["state", "element", "html"]
    assert "[lock]" in text and 'id="act1-lock"' in text
    assert page_host.current() is not page
