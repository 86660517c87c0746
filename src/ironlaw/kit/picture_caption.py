"""What to notice in a picture: a sentence under its title, always in view. `act1.see.<picture>` in words.md; `-` of an id becomes `_`.

A moving picture has one, too. It is made when the dials rest: nothing of it is in the way of a dial that is turned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ironlaw.kit.instrument import Values, View
from ironlaw.kit.lab_words import Words
from ironlaw.kit.prose import inline
from ironlaw.widget.figure import captioned

if TYPE_CHECKING:
    from ironlaw.widget.motion import Motion

LONGEST = 30  # words of a caption


def section(instrument: str, figure: str) -> str:
    return f"{instrument}.see.{figure.replace('-', '_')}"


def captions(words: Words, instrument: str, compute: Callable[[Values], View]) -> Callable[[Values], View]:
    """The same views, each picture with its sentence; `View.seen` fills the slots."""

    def sentence(id: str, slots: Mapping[str, Any]) -> str:
        name = section(instrument, id)
        return inline(words.fill_all([name], {}, slots)[name]) if name in words else ""

    def caption(figure: Any, slots: Mapping[str, Any]) -> Any:
        said = sentence(figure.id, slots)
        return captioned(figure, said) if said else figure

    def view(values: Values) -> View:
        seen = compute(values)
        motions = None if seen.motions is None else [replace(each, caption=sentence(each.id, seen.seen)) for each in seen.motions]
        return replace(seen, figures=[caption(figure, seen.seen) for figure in seen.figures], motions=motions)

    return view


def moving(compute: Callable[[Values], View], motion: Callable[[Values], Sequence[Motion]]) -> Callable[[Values], View]:
    """The same views, with what moves once the dials rest."""
    return lambda values: compute(values) if values.get("moving") else replace(compute(values), motions=list(motion(values)))
