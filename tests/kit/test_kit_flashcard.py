"""A card from question to key: nothing of the key before the ledger has the answer."""

from datetime import UTC, datetime, timedelta

import pytest
from as_browser import send

from ironlaw.kit.missing_ledger import AbsentLedger
from ironlaw.labs.review.flashcard import ReviewDesk, flashcard
from ironlaw.recall.card_templates import KINDS, template, templates
from ironlaw.recall.grade import Grade
from ironlaw.recall.review_session import Session
from ironlaw.recall.schedule import time_until

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def desk(ledger, clock):
    return ReviewDesk(Session(ledger, clock, seed=3))


@pytest.fixture
def piece(desk):
    return flashcard(desk)


def do(piece, what, **more):
    return send(piece, do=what, act=piece.state["act"] + 1, **more)


def one_of(kind):
    return next(card for card in templates().values() if card.kind == kind)


def right_answer(desk):
    """What somebody who knows types."""
    variant = desk.variant
    letters = {choice.id: letter for choice, letter in zip(variant.choices, "abcdefgh", strict=False)}
    if variant.template.kind == "numeric":
        return f"{variant.key:.12g} {variant.unit}"
    return " ".join(letters[name] for name in (variant.key if isinstance(variant.key, tuple) else [variant.key]))


@pytest.mark.parametrize("kind", ["numeric", "choice", "order"])
def test_the_key_comes_after_the_answer_is_in_the_ledger(desk, ledger, kind):
    desk.ask([one_of(kind).id])
    piece = flashcard(desk)
    variant = desk.variant
    before = str({**piece.view, "choices": [], "text": ""})
    assert "key" not in piece.view and "rubric" not in piece.view
    assert variant.working not in before and variant.answer not in before
    view = do(piece, "answer", answer=right_answer(desk), confidence=4)
    kept = [event for event in ledger.events("review") if event.kind == "reviewed"]
    assert [(event.payload["card"], event.payload["correct"], event.payload["confidence"]) for event in kept] == [
        (one_of(kind).id, True, 4)
    ]
    assert view["phase"] == "key" and view["key"]["right"] is True
    assert (view["key"]["answer"], view["key"]["working"]) == (variant.answer, variant.working)


def test_figures_to_look_up_come_with_the_question(desk):
    desk.ask(["order_by_ridge"])
    view = flashcard(desk).view
    assert [set(fact) for fact in view["facts"]] == [{"label", "value", "source"}] * 6
    assert all(fact["source"].startswith(("NVIDIA", "AMD", "Apple", "Estimate")) for fact in view["facts"])
    assert "within" in view["margin"] and view["margin"].rstrip(".") in view["hint"]
    desk.ask(["ridge_point"])
    view = flashcard(desk).view
    assert view["facts"] == [] and "within 3% counts as right" in view["hint"]


def test_an_explanation_shows_its_points_and_is_graded_by_oneself(desk, ledger):
    card = one_of("explain")
    desk.ask([card.id])
    piece = flashcard(desk)
    assert not any(point in str(piece.view) for point in desk.variant.rubric)
    view = do(piece, "answer", answer="something", confidence=2)
    assert view["phase"] == "points" and view["rubric"] == list(desk.variant.rubric)
    assert not [event for event in ledger.events("review") if event.kind == "reviewed"]
    assert "numbered" in do(piece, "points", points=[99])["error"]["message"]
    view = do(piece, "points", points=list(range(1, card.enough + 1)))
    assert view["phase"] == "key" and view["key"]["right"] is True
    assert ledger.events("review")[-1].payload["answer"] == "something"


@pytest.mark.parametrize(("answer", "confidence", "says"), [("", 3, "answer first"), ("7", None, "how sure"), ("7", 6, "how sure"),
                                                           ("7", True, "how sure"), ("many", 3, "is not a number")])  # fmt: skip
def test_what_is_missing_is_said_and_nothing_is_kept(piece, ledger, answer, confidence, says):
    view = do(piece, "answer", answer=answer, confidence=confidence)
    assert says in view["error"]["message"]
    assert view["phase"] == "answer" and "key" not in view
    assert ledger.events("review") == []


def test_a_mistake_is_named_with_its_counter_example(desk):
    desk.ask(["ridge_point"])
    wrong = desk.variant.mistakes[0]
    piece = flashcard(desk)
    view = do(piece, "answer", answer=f"{wrong.value:.12g}", confidence=5)
    from ironlaw.recall import beliefs

    assert view["key"]["right"] is False
    assert view["key"]["belief"] == beliefs.belief(wrong.misconception)
    assert view["key"]["but"] == beliefs.counterexample(wrong.misconception).text


def test_next_skip_and_undo(piece, desk, ledger, clock):
    first = desk.variant.template.id
    view = do(piece, "answer", answer=right_answer(desk), confidence=5)
    assert "in " in view["key"]["back"]
    assert "already answered" in do(piece, "answer", answer="7", confidence=5)["error"]["message"]
    assert "no open card" in do(piece, "skip")["error"]["message"]
    clock.now += timedelta(seconds=1)
    second = do(piece, "next")["card"]
    assert second != first and piece.view["left"] == 9
    view = do(piece, "undo")
    assert view["card"] == first and view["phase"] == "answer" and "Taken back" in view["told"]
    assert [event.kind for event in ledger.events("review")] == ["reviewed", "undo"]
    view = do(piece, "skip")
    assert view["card"] == second and view["told"].startswith("Skipped")
    assert "no answer to take back" in do(piece, "undo")["error"]["message"]


def test_an_explanation_that_is_taken_back_comes_last_because_its_points_were_read(piece, desk, ledger):
    card = next(due.template for due in desk.session.queue() if due.template.kind == "explain")
    desk.ask([card.id])
    before = desk.remaining
    do(piece, "answer", answer="because", confidence=3)
    do(piece, "points", points=[1])
    view = do(piece, "undo")
    assert view["card"] != card.id and view["left"] == before and "your explanation" in view["told"] and "because" not in view["told"]
    assert [event.kind for event in ledger.events("review")] == ["reviewed", "undo"]
    while view["left"] > 1:
        assert view["card"] != card.id
        view = do(piece, "skip")
    assert view["card"] == card.id and view["phase"] == "answer" and "rubric" not in view
    do(piece, "answer", answer="again", confidence=3)
    view = do(piece, "points", points=[1])
    view = do(piece, "undo")
    assert view["card"] == card.id and "without the points" in view["told"], "nothing else is left"


def test_the_undone_card_has_other_figures(piece, desk):
    before = desk.variant
    do(piece, "answer", answer=right_answer(desk), confidence=5)
    do(piece, "undo")
    assert desk.variant.template is before.template and desk.variant.seed != before.seed


def test_a_sitting_ends_and_says_when_the_next_card_comes(piece, desk, clock):
    for _ in range(40):
        if piece.view["phase"] == "done":
            break
        if desk.variant.template.kind == "explain":
            do(piece, "answer", answer="words", confidence=5)
            do(piece, "points", points=list(range(1, len(desk.variant.rubric) + 1)))
        else:
            do(piece, "answer", answer=right_answer(desk), confidence=5)
        do(piece, "next")
    view = piece.view
    assert (view["phase"], view["answered"], view["right"]) == ("done", 10, 10)
    assert view["next"].startswith("in ") and "day" in view["next"]


def test_another_sitting_can_follow_at_once(piece, desk):
    asked = set()
    for _ in range(10):
        asked.add(desk.variant.template.id)
        view = do(piece, "skip")
    assert view["phase"] != "done"  # what was skipped makes room for others
    while view["phase"] != "done":
        view = do(piece, "skip")
    assert view["more"] > 10 and view["skipped"] > 10
    view = do(piece, "more")
    assert (view["phase"], view["left"], view["answered"]) == ("answer", 10, 0)
    assert desk.variant.template.id in asked  # skipped for that sitting only


def test_a_sitting_never_ends_without_a_way_on(piece, desk):
    """A topic is through: there are other topics, and its own cards before they are due."""
    view = do(piece, "topic", topic="memory")
    cards = 0
    while view["phase"] != "done":
        view = do(piece, "answer", answer="a", confidence=3) if view["kind"] == "choice" else do(piece, "skip")
        cards += view["phase"] == "key"
        view = do(piece, "next") if view["phase"] == "key" else view
    desk.session.skipped.clear()
    for name in [card.template.id for card in desk.session.state().due("memory")]:
        desk.session.answer(desk.session.variant(template(name)), "x", 3, Grade(True))
    piece.refresh()
    assert (piece.view["more"], piece.view["topic"]) == (0, "Memory") and piece.view["ahead"] >= cards > 0
    view = do(piece, "ahead")
    assert (view["phase"], view["topic"], view["reason"]) == ("answer", "Memory", "ahead of its time")
    assert view["left"] == piece.view["left"] > 0
    assert do(piece, "topic", topic="")["left"] > 0


def test_nothing_can_be_asked_ahead_before_anything_was_answered(piece):
    assert "none comes back" in do(piece, "ahead")["error"]["message"]


def test_what_is_left_counts_down_with_the_answer(piece, desk):
    desk.ask(["relu_regime"])  # one of the ten
    piece.refresh()
    assert piece.view["left"] == 10
    view = do(piece, "answer", answer="a", confidence=2)
    assert (view["phase"], view["left"]) == ("key", 9)
    assert do(piece, "next")["left"] == 9


def test_what_is_left_never_rises(piece, desk, clock):
    """Wrong answers fell due again within the sitting, so that it grew: 5, 4, 3, 4, 3, 6."""
    left = [piece.view["left"]]
    while piece.view["phase"] != "done":
        kind = piece.view["kind"]
        if kind == "explain":
            do(piece, "skip")
        elif kind == "choice":
            do(piece, "answer", answer="a", confidence=5)
        else:
            do(piece, "answer", answer=right_answer(desk), confidence=5)
        clock.now += timedelta(minutes=40)
        left.append(piece.view["left"])
        if piece.view["phase"] == "key":
            left.append(do(piece, "next")["left"])
    assert left == sorted(left, reverse=True) and left[0] == 10 and left[-1] == 0 and len(desk.session.answers) >= 5
    assert piece.view["more"] > 0  # those that came back, and others, in another sitting


def test_a_topic_and_cards_by_name(piece, desk):
    view = do(piece, "topic", topic="fusion")
    assert view["topic"] == "Fusion" and view["left"] == 10
    assert "no topic" in do(piece, "topic", topic="cooking")["error"]["message"]
    desk.topic("")
    names = [one_of(kind).id for kind in KINDS]
    desk.ask(names)
    piece.refresh()
    assert piece.view["card"] == names[0]
    do(piece, "skip")
    assert piece.view["card"] == names[1]


def test_an_unknown_act_and_an_old_message_do_nothing(piece, ledger):
    assert "'dance' is not an action on a card" in do(piece, "dance")["error"]["message"]
    assert send(piece, do="answer", answer="7", confidence=3)["error"] is None  # `act` has not risen
    assert ledger.events("review") == []


def test_without_a_ledger_it_says_why(clock):
    desk = ReviewDesk(Session(AbsentLedger("the disk is gone"), clock))
    view = do(flashcard(desk), "answer", answer="7", confidence=3)
    assert "the disk is gone" in view["error"]["message"] and "key" not in view


@pytest.mark.parametrize(("time", "says"), [(timedelta(days=3), "in 3 days"), (timedelta(hours=1), "in 1 hour"),
                                           (timedelta(minutes=10), "in 10 minutes"), (timedelta(seconds=5), "in a moment")])  # fmt: skip
def test_when_it_comes_back(time, says):
    assert time_until(time) == says
