"""A formula with the current figures in it, each term in its colour."""

from __future__ import annotations

from ironlaw.kit.prose import NARROW, dress
from ironlaw.units import show


def term(name: str, text: str) -> str:
    """A piece of a formula that belongs to a term: memory, compute or overhead."""
    return f'<span class="il-term il-{name}">{text}</span>'


def fraction(top: str, bottom: str) -> str:
    slash = f'<span class="il-over">{NARROW}/{NARROW}</span>'
    return f'<span class="il-frac"><span class="il-top">{top}</span>{slash}<span class="il-bottom">{bottom}</span></span>'


def line(*parts: str) -> str:
    """The parts with spaces between them, but none before a comma or after an opening bracket."""
    text = ""
    for part in parts:
        text += part if not text or text.endswith("(") or part[:1] in (";", ":", ",", ")") else f" {part}"
    return f'<div class="il-formula-line">{text}</div>'


def iron_law(
    data: float, bandwidth: float, operations: float, rate: float, launches: float, launch: float, seconds: tuple[float, float, float],
    operation: str = "FLOP",
) -> str:  # fmt: skip
    """T = D/BW + O/R + L, then with figures, then the three terms; all in SI. `operation`: FLOP, or OP where numbers are integers."""
    memory, compute, overhead = seconds
    symbols = line(
        "<i>T</i> =", term("memory", fraction("<i>D</i>", "<i>BW</i>")), "+", term("compute", fraction("<i>O</i>", "<i>R</i>")), "+",
        term("overhead", "<i>L</i>"),
    )  # fmt: skip
    each = f"{launches:,.0f}{NARROW}×{NARROW}" if launches != 1 else ""
    figures = line(
        "=", term("memory", fraction(dress(show(data, "B")), dress(show(bandwidth, "B/s")))), "+",
        term("compute", fraction(dress(show(operations, operation)), dress(show(rate, f"{operation}/s")))), "+",
        term("overhead", each + dress(show(launch, "s"))),
    )  # fmt: skip
    terms = (("memory", memory), ("compute", compute), ("overhead", overhead))
    total = line("=", " + ".join(term(name, dress(show(value, "s"))) for name, value in terms))
    return symbols + figures + total


def ratio(symbol: str, top: str, bottom: str, result: str) -> str:
    """`R_A / R_B = 989 TFLOP/s / 1 GFLOP/s = 989,000`; all four are HTML."""
    return line(f"<i>{symbol}</i> =", fraction(top, bottom), "=", result)
