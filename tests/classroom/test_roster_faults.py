"""Gradebooks that can't be read, each with what to do next; and beliefs from a learner's cards among those from labs."""

from types import SimpleNamespace

import pytest

from ironlaw.classroom import learner_beliefs, roster
from ironlaw.errors import BadValue

HEAD = "First name,Last name,ID number,Email address\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"cannot read .*\(No such file.*name the gradebook that your course system exported"),
        (b"\xe9\x00\xff", "is not UTF-8 text; export the gradebook as CSV again"),
        (b"x" * (roster.LARGEST + 1), "has more than .* MB; name the gradebook"),
        (HEAD.encode() + b'"' + b"y" * 200_000 + b'"', r"can't be read as CSV \(field larger than field limit"),
        (HEAD.encode() + b" , , ,\n\n", "lists no students; export the gradebook again"),
        (b"", "does not have the columns of a gradebook that ironlaw knows"),
    ],
    ids=["missing", "bytes", "large", "field", "nobody", "empty"],
)
def test_a_gradebook_that_can_t_be_read_says_what_to_do(content, words, tmp_path):
    place = tmp_path / "book.csv"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(BadValue, match=words):
        roster.read(place)


def test_a_gradebook_in_utf_16_with_tabs(tmp_path):
    place = tmp_path / "book.txt"
    place.write_text((HEAD + "Ada,Lovelace,17,ada@x.org\n").replace(",", "\t"), encoding="utf-16")
    assert [one["ID number"] for one in roster.read(place).students] == ["17"]


def review(place, card, misconception, correct, confidence):
    return SimpleNamespace(place=place, card=card, misconception=misconception, correct=correct, confidence=confidence)


def test_cards_are_taken_between_the_labs_answers_in_order(monkeypatch):
    """Answers at places 2 and 6 of the ledger, cards at 1, 4 and 9."""
    sure = learner_beliefs.SURE
    monkeypatch.setattr(learner_beliefs, "_cards", lambda: {"card": {"believed": None}})
    monkeypatch.setattr(learner_beliefs, "sheet", lambda lab: SimpleNamespace(items={}))
    answer = SimpleNamespace(lab="lab", payload={"correct": False, "misconception": "stored", "confidence": sure})
    cards = [review(1, "card", "believed", False, sure), review(4, "card", None, True, sure - 1), review(9, "gone", None, False, sure)]
    told = list(learner_beliefs._history([(2, answer, "act1"), (6, answer, "act2")], cards))
    assert [(chosen, certain, right, where) for _, chosen, certain, right, where in told] == [
        ("believed", True, False, "review/card"), ("stored", True, False, "lab/act1"), ("", False, True, "review/card"),
        ("stored", True, False, "lab/act2"), ("", True, False, "review/gone"),
    ]  # fmt: skip
    assert told[0][0] == {"believed": None} and told[4][0] == {}  # a card that is no longer there was behind no belief
