"""The seam between the kit and the page that it draws on: what marimo's host passes on, and that another one can take its place."""

from ironlaw import kit
from ironlaw.kit import host
from ironlaw.kit.host.in_marimo import Mirror, widget
from ironlaw.widget.piece import OPEN, Piece, wire


def square(state):
    return {"figures": [{"id": "a", "y": state["value"] ** 2}], "note": str(state["value"])}


def piece() -> Piece:
    return Piece("toggle", {"label": "n", "options": [{"value": 2}, {"value": 3}]}, square)


def test_marimos_widget_says_what_the_piece_says_and_what_the_browser_does_reaches_the_piece():
    made = piece()
    mirror = widget(made).widget
    assert (mirror.kind, mirror.spec, mirror.state, mirror.view) == (made.kind, made.spec, made.state, made.view)
    assert mirror.get_state(["view"])["view"] == wire(made.view)
    mirror.set_state({"state": {"value": 3, "seq": 1}})  # as a message of the browser does
    assert made.state == {"value": 3, "seq": 1}
    assert mirror.view == made.view == {"figures": [{"id": "a", "y": 9}], "note": "3", "seq": 1}
    made.state = {"value": 2}  # Python itself
    assert mirror.state == {"value": 2} and mirror.view["note"] == "2"
    made.spec = {**made.spec, "label": "m"}
    assert mirror.spec["label"] == "m"


def test_a_piece_that_is_closed_takes_its_widget_along():
    made = piece()
    mirror = widget(made).widget
    made.close()
    assert not made.followers and mirror.comm is None
    assert Mirror(piece()).comm is not None


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

    def begin(self):
        self.asked.append("begin")

    def ledger(self):
        raise AssertionError("a ledger was passed")


def test_a_lab_draws_on_whatever_page_it_is_given(ledger):
    page = Recorder()
    with host.using(page):
        lab = kit.open("_template", ledger)
        lab.states("act1")
        text = lab.lock("act1")
    assert page.asked == ["begin", "state", "element", "html"]
    assert "[lock]" in text and 'id="act1-lock"' in text
    assert host.current() is not page
