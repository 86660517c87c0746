"""What `ironlaw measure` shows of this machine: peaks, memory levels, launches, compile time, and how quiet it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.formats import rate_unit
from ironlaw.measure.machine.characterise import Characterisation
from ironlaw.measure.machine.datasheet import Figures
from ironlaw.measure.machine.keep import Kept
from ironlaw.measure.machine.machine_sections import Minute
from ironlaw.measure.software_host import SLUG
from ironlaw.units import show

LITTLE = 0.005  # by which another minute is worth waiting for
LAUNCH = {"sync_s": "waited for", "graph_s": "in a graph", "busy_s": "kernel"}


def report(result: Characterisation, figures: Figures, stored: Kept | None, out: str | None) -> None:
    draw.heading(str(result.machine.get("gpu") or result.machine["cpu"]), _about(result))
    peaks = [(fmt, show(rate, rate_unit(fmt)), f"a product of side {n:,}") for fmt, (rate, n) in figures.peaks.items()]
    peaks += [(fmt, show(rate, rate_unit(fmt)), "converted in software: no unit for it") for fmt, rate in figures.emulated.items()]
    draw.table(["peak", "measured", "by"], peaks, left=("peak",), text=("by",))
    levels = [(lv.name, show(lv.bandwidth, "B/s"), show(lv.size, "B"), "yes" if lv.has_step else "no") for lv in figures.levels]
    main = ("main", show(figures.bandwidth, "B/s"), show(result.machine.get("memory_bytes", 0), "B"), "")
    draw.table(["memory", "bandwidth", "size", "step seen"], [*levels, main], left=("memory",))
    _launches(result, figures)
    functions = compiled(result)
    if functions:
        draw.table(["compiling", "takes", "the first function", "then a call"], functions, left=("compiling",))
    if result.minute is not None:
        draw.say(worth(result.minute))
    for note in result.notes:
        draw.say(f"note: {note}", draw.DIM)
    draw.say(f"noise: {verdict(result)}", draw.BAD if result.noise.noisy else draw.GOOD)
    _next(result, figures, stored, out)


def _launches(result: Characterisation, figures: Figures) -> None:
    """Op kinds, the cheapest first: queued back to back, and what else is known on a device."""
    rows = sorted((row for row in result.rows if row.kind == "launch"), key=lambda row: row.value("wall_s"))
    more = [name for name in LAUNCH if any(row.get(name) for row in rows)]
    seen: dict[str, tuple[str, ...]] = {}
    for row in rows:
        cells = [show(row.value(name), "s") if row.get(name) else "–" for name in more]
        seen.setdefault(row.op, (row.op, show(row.value("wall_s"), "s"), *cells))
    draw.table(["launch", "queued", *(LAUNCH[name] for name in more)], seen.values(), left=("launch",))
    draw.say(
        f"Launching an element-wise op takes {show(figures.launch, 's')} (median); no kernel takes less than {show(figures.floor, 's')}."
    )


def worth(minute: Minute) -> str:
    """What the chosen operators tell, and what another minute would add."""
    if not minute.timed:
        return (
            f"The minute was over before any of {minute.cases:,} operators that tell most about models was timed, so one is about"
            f" {minute.now:.0%} off on average. Close other programs, or give it another minute: ironlaw measure --seconds 120"
        )
    if minute.timed >= minute.cases:
        more = "All of them were timed; `ironlaw measure --full` times more kinds, and `--for MODEL` the operators of your model."
    elif minute.now - minute.then < LITTLE:
        more = "Another minute would hardly change that; `ironlaw measure --for MODEL` times the operators of your model."
    else:
        more = f"Another minute would bring that to {minute.then:.0%}: ironlaw measure --seconds 120"
    return (
        f"Timed {minute.timed:,} of {minute.cases:,} operators, those first that tell most about models. An operator that was not timed is"
        f" now about {minute.now:.0%} off on average. {more}"
    )


def _next(result: Characterisation, figures: Figures, stored: Kept | None, out: str | None) -> None:
    if stored is None:
        draw.say(f"Wrote {len(result.rows)} rows of evidence to {out}; nothing is stored as `this`.")
        return
    without = "estimates from other machines, with the rates measured here" if stored.datasheet else "bounds"
    fitted = f"{len(stored.curves)} fitted" if stored.curves else f"too few rows to fit any, so predictions for this machine are {without}"
    draw.pairs([("figures", str(stored.figures)), ("evidence", f"{stored.evidence}, {len(result.rows)} rows"), ("curves", fitted)])
    fmt = "" if "fp16" in figures.peaks else " --dtype fp32"
    draw.say(f"This machine is now called `this` everywhere, in the labs too. Next: ironlaw predict resnet50 --on this{fmt}", draw.STRONG)


def _about(result: Characterisation) -> str:
    machine, software = result.machine, result.software
    library = f"PyTorch {software.get('torch')}" if machine["library"] == "torch" else f"NumPy {software.get('numpy')}"
    where = f"{machine['device']}, " if machine.get("device") else ""
    where += f"{machine['sms']} SMs" if "sms" in machine else f"{machine['cores']} processors, {machine['threads']} threads"
    return f"{where}, {show(machine.get('memory_bytes', 0), 'B')}, {library} on {machine['backend']}"


def compiled(result: Characterisation) -> list[tuple[str, ...]]:
    return [
        (row.name, *(show(row.value(name), "s") for name in ("compile_s", "startup_s", "wall_s")))
        for row in result.rows
        if row.kind == "function" and row.compile_s
    ]


def verdict(result: Characterisation) -> str:
    noise, repeated = result.noise, result.repeated
    others = "unknown" if noise.others is None else f"{noise.others:.0%}"
    quiet = f"other programs took {others} of the processors, and the reference varied by {noise.drift:.0%}"
    twice = f"; measured twice: {', '.join(repeated)}" if repeated else ""
    return (f"NOISY: {'; '.join(noise.reasons)}" if noise.noisy else f"quiet ({quiet})") + twice


def as_json(result: Characterisation, figures: Figures, stored: Kept | None, out: str | None) -> dict[str, Any]:
    return {
        "slug": SLUG,
        "machine": result.machine,
        "software": result.software,
        "peaks": {fmt: rate for fmt, (rate, _) in figures.peaks.items()},
        "emulated": figures.emulated,
        "bandwidth": figures.bandwidth,
        "levels": [{"name": lv.name, "size": lv.size, "bandwidth": lv.bandwidth, "step_seen": lv.has_step} for lv in figures.levels],
        "curve": [{"working_set": size, "bandwidth": rate} for size, rate in figures.curve],
        "launch": figures.launch,
        "floor": figures.floor,
        "launches": {row.op: row.wall_s for row in result.rows if row.kind == "launch"},
        "compile_s": next((row.compile_s for row in result.rows if row.compile_s), None),
        "notes": result.notes,
        "noise": result.noise.as_json() | {"repeated": result.repeated},
        "minute": None if result.minute is None else asdict(result.minute),
        "rows": len(result.rows),
        "curves": list(stored.curves) if stored else [],
        "stored": [str(stored.evidence), str(stored.figures)] if stored else [out],
    }
