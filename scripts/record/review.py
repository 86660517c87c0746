"""What a learner does in the review, which has no acts: answers cards, opens concepts, walks trees, ticks and writes."""

from __future__ import annotations

from typing import Any

from book import Book
from visits import Visit

CARDS = 40


def sit(visit: Visit, book: Book, key: str) -> None:
    for number in range(CARDS):
        if visit.traits("flashcard card")["view"].get("phase") == "done":
            book.keep(f"{key}/card {number:02d} more", visit.press("flashcard card", do="more"))
        _card(visit, book, f"{key}/card {number:02d}", number)
    for row in visit.traits("map map")["spec"]["rows"]:
        for concept in row:
            name = concept if isinstance(concept, str) else concept["id"]
            book.keep(f"{key}/concept {name}", visit.act("map map", open=name))
    _walks(visit, book, key)
    _loops(visit, book, key)
    _guesses(visit, book, key)
    for prompt in visit.traits("writing writing")["spec"]["prompts"]:
        book.keep(f"{key}/prompt {prompt['id']}", visit.press("writing writing", prompt=prompt["id"], text="fusion is shaky"))
    for statement in _statements(visit.traits("checklist checklist")["view"]):
        book.keep(f"{key}/tick {statement}", visit.press("checklist checklist", statement=statement, ticked=True))
    book.keep(f"{key}/events", {"events": visit.events()})


def _card(visit: Visit, book: Book, key: str, number: int) -> None:
    view = visit.traits("flashcard card")["view"]
    if view.get("phase") != "answer":
        return
    choices = view.get("choices") or []
    answer = view["letters"][number % len(choices)] if choices else "3"
    if view["kind"] == "order":
        answer = "".join(view["letters"])
    book.keep(f"{key} answer", visit.press("flashcard card", do="answer", answer=answer, confidence=1 + number % 5))
    if visit.traits("flashcard card")["view"].get("phase") == "points":
        book.keep(f"{key} points", visit.press("flashcard card", do="points", points=[1]))
    if number % 7 == 6:
        book.keep(f"{key} undo", visit.press("flashcard card", do="undo"))
    go_on = "next" if visit.traits("flashcard card")["view"].get("phase") == "key" else "skip"
    book.keep(f"{key} {go_on}", visit.press("flashcard card", do=go_on))


def _walks(visit: Visit, book: Book, key: str) -> None:
    """Every kind of op after a matmul and before a ReLU, all branches answered yes, then no."""
    for kind in visit.traits("walk walk")["spec"]["kinds"]:
        for place, pair in enumerate(({"first": "matmul", "second": kind["value"]}, {"first": kind["value"], "second": "relu"})):
            for yes in (True, False):
                answers: list[bool] = []
                visit.act("walk walk", **pair, answers=answers)
                while visit.traits("walk walk")["view"].get("next"):
                    answers = [*answers, yes]
                    visit.act("walk walk", **pair, answers=answers)
                book.keep(f"{key}/walk {kind['value']} {place} {yes}", {"view": visit.traits("walk walk")["view"]})


def _loops(visit: Visit, book: Book, key: str) -> None:
    """Every choice of the menus' first, answered by the first option throughout, then by the last."""
    for menu in visit.traits("loop loop")["spec"]["menus"]:
        for value, _ in menu["options"]:
            for place in (0, -1):
                answers: list[int] = []
                visit.act("loop loop", **{menu["id"]: value}, answers=answers)
                view = visit.traits("loop loop")["view"]
                while "steps" in view and len(answers) < view["of"]:
                    answers = [*answers, place % len(view["steps"][-1]["options"])]
                    visit.act("loop loop", **{menu["id"]: value}, answers=answers)
                    view = visit.traits("loop loop")["view"]
                book.keep(f"{key}/loop {menu['id']} {value} {place}", {"view": view})


def _guesses(visit: Visit, book: Book, key: str) -> None:
    spec = visit.traits("spectrum spectrum")["spec"]
    for outcome, _ in spec["outcomes"]:
        guesses = {way["id"]: outcome for way in spec["ways"]}
        book.keep(f"{key}/spectrum {outcome}", visit.act("spectrum spectrum", guesses=guesses))


def _statements(node: Any) -> list[str]:
    """The ids of the checklist's rows."""
    if isinstance(node, list):
        return [one for item in node for one in _statements(item)]
    if isinstance(node, dict):
        return [node["id"]] if "ticked" in node else [one for item in node.values() for one in _statements(item)]
    return []
