"""Sources, short enough to stand under a table; `ironlaw hardware NAME` gives them in full."""

from __future__ import annotations

import re

from ironlaw.engine.device.machine import Figure
from ironlaw.engine.device.predict import Prediction
from ironlaw.units import show

ASIDE = re.compile(r"\s*\([^)]*\)|,?\s*https?://\S+")


def brief(p: Prediction) -> str:
    """Which figures were used, their values, and in brackets where they come from."""
    lines: dict[str, list[str]] = {}
    for text in p.sources:
        name, _, rest = text.partition(": ")
        figure = p.hardware.figures.get(name)
        if name == "fp32":
            continue  # a line of its own says it
        if name == "launch" and p.plan.launch is not None:
            lines["given"] = [f"launch {show(p.plan.launch, 's')}"]
        else:
            lines.setdefault(short(figure, rest), []).append(f"{name} {value(figure)}" if figure else name)
    return "; ".join(f"{', '.join(dict.fromkeys(names))} ({line})" if line else "; ".join(names) for line, names in lines.items())


def value(figure: Figure, digits: int = 3) -> str:
    """`≈ 10 µs` where the figure is an estimate."""
    return f"{'≈ ' if figure.estimate else ''}{show(figure.value, figure.unit, digits)}"


def short(figure: Figure | None, text: str) -> str:
    if figure is None:
        return ASIDE.sub("", text)
    title = ASIDE.sub("", figure.source).split(", ")[0]
    return f"{title}, {figure.date}"
