"""The calibration curve as a still picture for a page that also prints: a point and its interval for each level of confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SIZE, LEFT, TOP = 180.0, 34.0, 8.0  # of the square, and the room around it
TICKS = (0, 25, 50, 75, 100)


def calibration_picture(levels: Sequence[Mapping[str, Any]]) -> str:
    """`levels` as a certificate has them. On the dashed line a learner is as often right as stated; below it, too sure."""
    grid = "".join(
        f'<text class="x" x="{_x(tick):g}" y="{_y(0) + 14:g}">{tick}</text>'
        f'<text class="y" x="{LEFT - 6:g}" y="{_y(tick) + 4:g}">{tick}</text>'
        for tick in TICKS
    )
    points = "".join(_point(level) for level in levels if level["predictions"])
    bottom = _y(0)
    return (
        f'<svg class="curve" viewBox="0 0 {LEFT + SIZE + 12:g} {TOP + SIZE + 34:g}" role="img" aria-label="{_words(levels)}">'
        f'<rect x="{LEFT:g}" y="{TOP:g}" width="{SIZE:g}" height="{SIZE:g}"/>'
        f'<path class="ideal" d="M{LEFT:g} {bottom:g}L{LEFT + SIZE:g} {TOP:g}"/>{grid}{points}'
        f'<text class="x" x="{LEFT + SIZE / 2:g}" y="{bottom + 29:g}">stated, %</text>'
        f'<text class="x" transform="translate(9 {TOP + SIZE / 2:g}) rotate(-90)">right, %</text></svg>'
    )


def _point(level: Mapping[str, Any]) -> str:
    x, (low, high) = _x(100 * level["stated"]), level["interval"]
    y = _y(100 * level["right"] / level["predictions"])
    return f'<path d="M{x:g} {_y(100 * low):.1f}V{_y(100 * high):.1f}"/><circle cx="{x:g}" cy="{y:.1f}" r="4.5"/>'


def _words(levels: Sequence[Mapping[str, Any]]) -> str:
    said = [
        f"confidence {level['confidence']}, {100 * level['stated']:.0f}% stated: {level['right']} of {level['predictions']} right"
        for level in levels
        if level["predictions"]
    ]
    return f"Stated against right. {'; '.join(said)}." if said else "No predictions yet."


def _x(percent: float) -> float:
    return LEFT + SIZE * percent / 100


def _y(percent: float) -> float:
    return TOP + SIZE * (1 - percent / 100)
