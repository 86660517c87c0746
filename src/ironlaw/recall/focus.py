"""The next focus: the concepts that a learner calls shaky in the written reflection. Their cards come first among the new ones.

A concept is named by its label or by one of the words under `also` in concepts.toml; a topic by the name of its file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ironlaw.recall.card_templates import templates, topics
from ironlaw.recall.concepts import Concept, concept_map

PROMPT = "shaky"  # of the written reflection


def concepts(texts: Mapping[str, str]) -> tuple[Concept, ...]:
    """The concepts that the learner's answer to the prompt names, in the order of the map. `KV cache` names that, and not caches."""
    text, every = texts.get(PROMPT, ""), concept_map().concepts
    named = set()
    names = [(name, concept.id) for concept in every.values() for name in _words(concept)]
    for name, about in sorted(names, key=lambda pair: -len(pair[0])):
        if (rest := _pattern(name).sub(" ", text)) != text:
            named.add(about)
            text = rest
    return tuple(concept for concept in every.values() if concept.id in named)


def cards(texts: Mapping[str, str]) -> frozenset[str]:
    """The cards of the concepts named, of those that a concept without cards leads to, and of the topics named."""
    named = concepts(texts)
    ids = {concept.id for concept in named} | {below for concept in named if not concept.cards for below in concept_map().below(concept.id)}
    about = {topic for topic in topics() if not named and _pattern(topic).search(texts.get(PROMPT, ""))}
    return frozenset(name for name, card in templates().items() if card.concept in ids or card.topic in about)


def says(texts: Mapping[str, str]) -> str:
    """What the page says below the prompt; empty until something is written."""
    if not texts.get(PROMPT, "").strip():
        return ""
    if not (chosen := cards(texts)):
        return "To make it your next focus, name a concept of the map, such as the roofline, fusion or the KV cache."
    labels = [concept.label for concept in concepts(texts)] or sorted({templates()[card].topic.capitalize() for card in chosen})
    return f"Your next focus: {', '.join(labels)}. New cards about it come first."


def _words(concept: Concept) -> tuple[str, ...]:
    return (concept.label, *concept.also)


def _pattern(name: str) -> re.Pattern[str]:
    """The name as whole words, in the plural too, whatever the case."""
    return re.compile(rf"(?<!\w){re.escape(name)}s?(?!\w)", re.IGNORECASE)
