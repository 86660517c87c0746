"""The concept map (concepts.toml), and how well each concept is known.

A card's mastery is retrievability × correctness: what FSRS says is still remembered now, times how many of its last three answers were
right; an answer that is still missing counts as not right, so that one good answer is a third. A card that was never answered has 0. A
concept's mastery is the mean over its cards; a concept without cards of its own
takes the mean of the concepts that it leads to, and a planned one has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall.card_templates import templates
from ironlaw.recall.schedule import Standing
from ironlaw.registry.loader import read

HERE = Path(__file__).parent
RECENT = 3  # answers of a card that count for correctness
MIDDLING, GOOD = 0.3, 0.6  # about one right answer to each card, and two


@dataclass(frozen=True, slots=True)
class Concept:
    """A node. `lab` is where it is learned ("review" for what only the review asks); `planned`: its lab is not written yet."""

    id: str
    label: str
    definition: str
    days: str = ""
    lab: str = ""
    planned: bool = False
    also: tuple[str, ...] = ()  # other names for it

    @property
    def cards(self) -> tuple[str, ...]:
        return tuple(name for name, template in templates().items() if template.concept == self.id)


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class MarkedPath:
    """A story through the map: steps of (concept, sentence)."""

    id: str
    label: str
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Map:
    concepts: Mapping[str, Concept]
    edges: tuple[Edge, ...]
    paths: tuple[MarkedPath, ...]

    def concept(self, name: str) -> Concept:
        if name not in self.concepts:
            raise unknown("concept", name, self.concepts, f"[concept.{name}] in recall/concepts.toml")
        return self.concepts[name]

    def below(self, name: str) -> list[str]:
        """The concepts that it leads to."""
        return [edge.target for edge in self.edges if edge.source == name]


@cache
def concept_map() -> Map:
    return load(HERE / "concepts.toml")


def load(file: Path) -> Map:
    data = read(file)
    nodes = {name: _concept(f"{file.name} [concept.{name}]", name, table) for name, table in data.get("concept", {}).items()}
    edges = tuple(Edge(edge["from"], edge["to"], edge.get("says", "")) for edge in data.get("edge", ()))
    paths = tuple(
        MarkedPath(name, table["label"], tuple((step["at"], step["says"]) for step in table["steps"]))
        for name, table in data.get("path", {}).items()
    )
    for name in [*(end for edge in edges for end in (edge.source, edge.target)), *(at for path in paths for at, _ in path.steps)]:
        if name not in nodes:
            raise unknown("concept", name, nodes, f"[concept.{name}] in {file.name}")
    return Map(nodes, edges, paths)


def card_mastery(standing: Standing) -> float:
    recent = standing.reviews[-RECENT:]
    return standing.retrievability * sum(review.correct for review in recent) / RECENT


def mastery(standing: Mapping[str, Standing], graph: Map | None = None) -> dict[str, float | None]:
    """The mastery of each concept, 0 to 1; None where nothing teaches it yet."""
    graph = graph or concept_map()
    return {name: _mastery(name, standing, graph, frozenset()) for name in graph.concepts}


def _mastery(name: str, standing: Mapping[str, Standing], graph: Map, seen: frozenset[str]) -> float | None:
    if graph.concepts[name].planned:
        return None
    own = [card_mastery(standing[card]) for card in graph.concepts[name].cards if card in standing]
    if not own:
        below = [_mastery(target, standing, graph, seen | {name}) for target in graph.below(name) if target not in seen]
        own = [value for value in below if value is not None]
    return sum(own) / len(own) if own else None


def _concept(where: str, name: str, table: Any) -> Concept:
    for key in ("label", "definition"):
        if not isinstance(table, Mapping) or not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    if not table.get("lab") and not table.get("planned"):
        raise BadRegistry(f"{where} names no lab; add `lab = …`, or `planned = true` if there is none yet")
    days, lab, planned = str(table.get("days", "")), table.get("lab", ""), bool(table.get("planned", False))
    return Concept(name, table["label"], table["definition"], days, lab, planned, tuple(table.get("also", ())))
