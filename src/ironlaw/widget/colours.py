"""The names of the colours. A name says what is meant, never how it looks; the colours themselves are in css/theme.css."""

from __future__ import annotations

# a term of the Iron Law has one colour in every lab, chart, card and sentence
TERMS = ("memory", "compute", "overhead")
CONTEXTS = ("cloud", "edge", "mobile", "tiny", "here")
COLOURS = (*TERMS, "good", "warn", "fail", "accent", "muted", "ink", "ridge", *CONTEXTS)
