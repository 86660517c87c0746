"""Sources, short enough to stand under a table; `ironlaw hardware NAME` gives them in full."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ironlaw.engine.device.machine import Figure
from ironlaw.engine.device.predict import Prediction
from ironlaw.units import show

ASIDE = re.compile(r"\s*\([^)]*\)|,?\s*https?://\S+")
EVIDENCE = re.compile(r"evidence [^,]+, (?P<date>[^,]+)(?:, (?P<software>.+))?")
FEW = 3  # files of evidence that are named


def brief(p: Prediction) -> str:
    """Which figures were used, their values, and in brackets where they come from."""
    lines: dict[str, list[str]] = {}
    for text in gathered(p.sources):
        name, _, rest = text.partition(": ")
        figure = p.hardware.figures.get(name)
        if name == "fp32":
            continue  # a line of its own says it
        if name == "launch" and p.plan.launch is not None:
            lines["given"] = [f"launch {show(p.plan.launch, 's')}"]
        else:
            lines.setdefault(short(figure, rest), []).append(f"{name} {value(figure)}" if figure else name)
    return "; ".join(f"{', '.join(dict.fromkeys(names))} ({line})" if line else "; ".join(names) for line, names in lines.items())


def gathered(sources: Sequence[str]) -> list[str]:
    """The same, with many files of evidence as one: how many, from when, of which library."""
    files = [match for match in map(EVIDENCE.fullmatch, sources) if match]
    if len(files) <= FEW:
        return list(sources)
    dates = sorted(match["date"] for match in files)
    software = ", ".join(dict.fromkeys(filter(None, (match["software"] for match in files))))
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    whole = ", ".join(filter(None, (f"{len(files)} files of evidence", when, software, "listed with --json")))
    return [whole, *(text for text in sources if not EVIDENCE.fullmatch(text))]


def value(figure: Figure, digits: int = 3) -> str:
    """`≈ 10 µs` where the figure is an estimate."""
    return f"{'≈ ' if figure.estimate else ''}{show(figure.value, figure.unit, digits)}"


def short(figure: Figure | None, text: str) -> str:
    if figure is None:
        return ASIDE.sub("", text)
    title = ASIDE.sub("", figure.source).split(", ")[0]
    return f"{title}, {figure.date}"
