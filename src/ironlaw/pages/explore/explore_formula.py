"""T = D/BW + O/R + L with the current figures in it: amounts over the rates that are reached, and what the launches are."""

from __future__ import annotations

from html import escape

from ironlaw.engine.device.predict import Prediction
from ironlaw.formats import operation
from ironlaw.kit.prose import amount
from ironlaw.pictures.theme import SYMBOLS
from ironlaw.widget.quantities import exact, format_quantity, share

SAME = 0.005  # rates this near are one


def formula(p: Prediction) -> str:
    """HTML, a line for each term and one for their sum."""
    memory, compute, overhead = float(p.data_s), float(p.compute_s), float(p.overhead_s)
    work, machine, total = p.graph.work, p.hardware, float(p.seconds)
    summed, fmt = memory + compute + overhead, p.graph.dtype
    unit = operation(fmt)
    terms = " + ".join(f'<span class="il-{term}">{_seconds(value)}</span>' for term, value in _terms(memory, compute, overhead))
    overlap = "(they overlap)" if summed / total > 1 + SAME else ""
    return "".join((
        _line("memory", _memory(p, memory)),
        _line("compute", _quotient(float(work.flops), unit, compute, float(machine.rate(fmt, work.kind)), f"{unit}/s") + _quiet(_units(p))),
        _line("overhead", f"<strong>{_seconds(overhead)}</strong>{_quiet(_launches(p))}"),
        f'<p class="il-sum"><b>T</b> ≤ {terms} = <strong>{_seconds(summed)}</strong>{_quiet("one after the other; predicted")}'
        f" <strong>{_seconds(total)}</strong>{_quiet(overlap)}</p>",
    ))  # fmt: skip


def _terms(memory: float, compute: float, overhead: float) -> tuple[tuple[str, float], ...]:
    return ("memory", memory), ("compute", compute), ("overhead", overhead)


def _line(term: str, rest: str) -> str:
    return f'<p class="il-{term}"><b>{SYMBOLS[term]}</b> = {rest}</p>'


def _seconds(value: float) -> str:
    return amount(value, "s", exact=exact(value, "s"))


def _quiet(text: str) -> str:
    return f' <span class="il-quiet">{escape(text)}</span>' if text else ""


def _quotient(size: float, unit: str, seconds: float, rated: float, rate: str) -> str:
    """Amount over the rate that is reached; beside the rated one where they differ. An op's time counts under its bottleneck,
    so a term may be shorter than its amount takes at the rated speed: the rest runs beside the other terms."""
    if seconds <= 0:
        return f"{amount(size, unit, exact=exact(size, unit))}, no time"
    reached = size / seconds
    if reached > rated * (1 + SAME):
        least = f"(at {format_quantity(rated, rate)} it takes {format_quantity(size / rated, 's')}: the rest overlaps with the other terms)"
        return f"<strong>{_seconds(seconds)}</strong> for {amount(size, unit, exact=exact(size, unit))}{_quiet(least)}"
    same = abs(reached / rated - 1) < SAME
    note = "" if same else f"(the rate reached on average, {share(reached, rated)} of {format_quantity(rated, rate)})"
    speed = rated if same else reached
    return (
        f"{amount(size, unit, exact=exact(size, unit))} ÷ {amount(speed, rate, exact=exact(speed, rate))}"
        f" = <strong>{_seconds(seconds)}</strong>{_quiet(note)}"
    )


def _memory(p: Prediction, seconds: float) -> str:
    """One quotient; two where activations have a memory of their own."""
    moved, machine = float(p.graph.work.bytes), p.hardware
    if not machine.activations:
        return _quotient(moved, "B", seconds, float(machine.bandwidth), "B/s")
    stored = float(sum(op.stored_bytes for op in p.graph.ops))
    rest, fast = moved - stored, float(machine.activation_bandwidth)
    weights = _quotient(stored, "B", stored / float(machine.bandwidth), float(machine.bandwidth), "B/s")
    others = _quotient(rest, "B", rest / fast, fast, "B/s")
    places = _quiet(f"(weights, from {machine.level('main').label})"), _quiet(f"(the rest, in {machine.level(machine.activations).label})")
    return f"{weights}{places[0]} + {others}{places[1]} = <strong>{_seconds(seconds)}</strong>"


def _units(p: Prediction) -> str:
    """Which units do which part of the arithmetic, at what rate."""
    work, machine, fmt = p.graph.work, p.hardware, p.graph.dtype
    rest = float(work.vector_flops)
    if work.kind == "vector" or rest <= 0 or not machine.has_matrix_units(fmt):
        return ""
    unit = operation(fmt)
    peak, others = (format_quantity(float(machine.rate(fmt, kind)), f"{unit}/s") for kind in ("matrix", "vector"))
    return (
        f"({format_quantity(float(work.matmul_flops), unit)} in products, whose units do {peak};"
        f" {format_quantity(rest, unit)} element by element, at up to {others})"
    )


def _launches(p: Prediction) -> str:
    fixed = "the kernels’ own fixed cost" if p.basis != "bound" else ""
    kernels = int(p.kernels)
    count = f"{kernels:,} kernel{'' if kernels == 1 else 's'}"
    if p.plan.replayed:
        return f"(one launch for all {count}{f', and {fixed}' if fixed else ''})"
    together = sum(float(row.launch_s) for row in p.ops)
    each = f"{kernels:,} launch{'' if kernels == 1 else 'es'} of {format_quantity(together / kernels, 's')}"
    launches = f"{each} are {format_quantity(together, 's')}"
    if p.plan.dispatch == "synchronous":
        return f"({launches}, and the device waits for each{f'; the rest is {fixed}' if fixed else ''})"
    return f"({launches} on the CPU; L is the part that no kernel covers{f', and {fixed}' if fixed else ''})"
