"""What to notice in a picture: a sentence under its title, always in view. `act1.see.<picture>` in words.md; `-` of an id becomes `_`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ironlaw.kit.instrument import Values, View
from ironlaw.kit.lab_words import Words
from ironlaw.kit.prose import inline
from ironlaw.widget.figure import captioned

LONGEST = 30  # words of a caption


def section(instrument: str, figure: str) -> str:
    return f"{instrument}.see.{figure.replace('-', '_')}"


def captions(words: Words, instrument: str, compute: Callable[[Values], View]) -> Callable[[Values], View]:
    """The same views, each picture with its sentence; `View.seen` fills the slots."""

    def caption(figure: Any, slots: Mapping[str, Any]) -> Any:
        name = section(instrument, figure.id)
        return captioned(figure, inline(words.fill_all([name], {}, slots)[name])) if name in words else figure

    def view(values: Values) -> View:
        seen = compute(values)
        return replace(seen, figures=[caption(figure, seen.seen) for figure in seen.figures])

    return view
