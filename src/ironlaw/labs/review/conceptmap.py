"""The concept map as a picture: nodes shaded by mastery, edges to walk along, three marked paths; a node opens its definition, its lab
and its cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit import lab_words
from ironlaw.kit.lab import LABS
from ironlaw.labs.review.checklist import card_record
from ironlaw.recall.concept_layers import layers
from ironlaw.recall.concepts import GOOD, MIDDLING, Concept, concept_map
from ironlaw.recall.record import REVIEW
from ironlaw.recall.review_session import State
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece


def conceptmap(state: Callable[[], State], ask: Callable[[Sequence[str]], None]) -> Piece:
    """`ask` puts cards on the table."""
    acts = ActCounter()

    def compute(values: Mapping[str, Any]) -> dict[str, Any]:
        opened = values.get("open")
        concept = concept_map().concept(str(opened)) if opened else None
        if acts.advanced(values):
            if concept is None or not concept.cards:
                raise BadValue("open a concept that has cards, then ask for them")
            ask(concept.cards)
        return {"nodes": nodes(state()), "opened": about(concept, state()) if concept else None}

    graph = concept_map()
    spec = {
        "id": "map", "rows": layers(graph), "edges": [{"from": edge.source, "to": edge.target, "says": edge.says} for edge in graph.edges],
        "paths": [{"id": way.id, "label": way.label, "steps": [{"at": at, "says": says} for at, says in way.steps]} for way in graph.paths],
    }  # fmt: skip
    return Piece("map", spec, compute, {"act": 0, "open": None})


def nodes(state: State) -> dict[str, dict[str, Any]]:
    mastery = state.mastery
    return {
        name: {"label": concept.label, "days": concept.days, "mastery": mastery[name], "words": shade(concept, mastery[name])}
        for name, concept in concept_map().concepts.items()
    }


def shade(concept: Concept, mastery: float | None) -> str:
    """What the shading says, in words."""
    if mastery is None:
        return "to come" if concept.planned else "no cards"
    return f"{100 * mastery:.0f}%"


def grade(mastery: float | None) -> str:
    if mastery is None:
        return ""
    return (
        "well known" if mastery >= GOOD else "half known" if mastery >= MIDDLING else "little known yet" if mastery else "not answered yet"
    )


def about(concept: Concept, state: State) -> dict[str, Any]:
    """A concept's definition, where it is learned, its neighbours, and its cards with their record."""
    graph = concept_map()
    neighbours = [(edge.source, edge.target, edge.says) for edge in graph.edges if concept.id in (edge.source, edge.target)]
    edges = [
        {"to": target if source == concept.id else source, "label": graph.concepts[target if source == concept.id else source].label,
         "way": "leads to" if source == concept.id else "comes from", "says": says}
        for source, target, says in neighbours
    ]  # fmt: skip
    at_home = concept.lab and concept.lab != REVIEW
    lab = {"href": f"/lab/{concept.lab}/", "title": title(concept.lab)} if at_home else None
    return {
        "id": concept.id, "label": concept.label, "days": concept.days, "definition": concept.definition, "lab": lab,
        "to_come": concept.planned, "edges": edges, "cards": [card_record(card, state.standing[card]) for card in concept.cards],
        "grade": grade(state.mastery[concept.id]),
    }  # fmt: skip


@cache
def title(lab: str) -> str:
    return lab_words.load(LABS / lab / "words.md").raw("title")
