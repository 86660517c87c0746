"""What `ironlaw cluster` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.registry.stacks import stacks
from ironlaw.report.cost_words import sources
from ironlaw.units import show, significant

PARTS = {
    "compute": "forward and backward", "recompute": "recomputed", "tensor": "tensor-parallel collectives",
    "context": "context-parallel collectives",
    "expert": "expert all-to-all", "pipeline": "sends between stages", "bubble": "pipeline bubble", "data": "exposed gradient exchange",
    "update": "optimiser, and what the stack adds", "offload": "update on the host, and copies that are waited for",
}  # fmt: skip
BESIDE = 48  # columns that a layout's figures take
KEPT = {"nccl": "NCCL's buffers", "workspaces": "workspaces", "fragmentation": "what an allocator can't use"}
STARTS = {
    "torchtitan.train": "torchtitan's options, which override your CONFIG.toml",
    "pretrain_gpt.py": "Megatron-LM's options; add yours for data",
}
AWAY = {"optimiser": "optimiser state", "gradients": "gradients", "weights": "weights"}
HELD = {"optimiser": "optimiser state"}  # parts of a device's memory whose names need a word more
BASES = {
    "calibrated": "operators measured on this device", "transferred": "operators estimated from measurements of other devices",
    "bound": "the datasheet's peaks, so real steps are longer",
}  # fmt: skip


def share(value: float) -> str:
    return f"{significant(100 * value)}%"


def report(result: Mapping[str, Any], notes: bool = False) -> None:
    """`notes`: with the sources of the prices."""
    sizes = f"{draw.plural(result['batch'], 'sequence')} of {result['seq']:,} tokens per step"
    draw.heading(result["model"], f"{result['devices']:,} × {result['hardware']} in {result['box']}, {sizes}")
    long = max(len(row["label"]) for row in result["layouts"])
    rows = [_layout(row, long + BESIDE > draw.width()) for row in result["layouts"]]
    best, many = result["layouts"][0], result["layouts_that_fit"]
    if best["fits"]:
        near = f"{_between(best['step_range_s'], lambda value: show(value, 's'))} in four runs of five"
        draw.say(f"{best['label']} takes {show(best['step_s'], 's')} per step ({near}), at {share(best['mfu'])} MFU.", draw.STRONG)
    else:
        over = show(best["memory_bytes"] - result["usable_bytes"], "B")
        draw.say(f"! {best['label']} does not fit: it needs {over} more than a device's {show(result['usable_bytes'], 'B')}.", draw.BAD)
    draw.table(["layout", "v", "micro", "recompute", "step", "MFU", "memory"], rows, left=("layout", "recompute"))
    if many > len(rows):
        draw.say(f"{many:,} layouts divide the model and fit; these are the fastest {len(rows)}.", draw.DIM)
    draw.say("v: model chunks per pipeline stage (interleaving); micro: sequences per microbatch.", draw.DIM)
    _parts(best, result["reserved_bytes"], result["device_bytes"])
    _host(best)
    _traffic(result["traffic"])
    _outlook(result, best, notes)
    whose = next((words for script, words in STARTS.items() if script in result["command"]), "your script")
    draw.heading("to start it", f"in each box, with {whose}")
    draw.command(result["command"])


def _layout(row: Mapping[str, Any], narrow: bool) -> tuple[Any, ...]:
    """In a narrow terminal ZeRO goes under its layout, so that no figure is cut."""
    label = row["label"].replace(" · ZeRO", "\n  ZeRO") if narrow else row["label"]
    memory = show(row["memory_bytes"], "B")
    return (
        label, f"{row['virtual']}", f"{row['micro']}", row["recompute"], (show(row["step_s"], "s"), draw.STRONG),
        share(row["mfu"]), memory if row["fits"] else (memory, draw.BAD),
    )  # fmt: skip


def _between(values: Sequence[float], shown: Callable[[float], str]) -> str:
    return " to ".join(map(shown, values))


def _parts(best: Mapping[str, Any], reserved: Mapping[str, float], device: float) -> None:
    draw.heading("where the step goes", best["label"])
    rows = [
        (PARTS[name], show(seconds, "s"), draw.percent(seconds / best["step_s"])) for name, seconds in best["parts_s"].items() if seconds
    ]
    draw.table(["", "time", "share"], rows, left=("",))
    kept = ", ".join(f"{show(size, 'B')} for {KEPT[name]}" for name, size in reserved.items() if size)
    free = f"Left free: {kept}." if kept else "Nothing is left free."
    held = ", ".join(f"{show(size, 'B')} of {HELD.get(name, name)}" for name, size in best["memory"].items())
    draw.say(f"The fullest device holds {held}. {free}", draw.DIM)
    if best["fits"] and best["memory_most_bytes"] > device:
        most, has = show(best["memory_most_bytes"], "B"), show(device, "B")
        draw.say(f"! An allocator may take up to {most}, and the device has {has}. Try this layout before you rely on it.", draw.BAD)


def _host(best: Mapping[str, Any]) -> None:
    if not best["offload"]:
        return
    held = [AWAY[part] for part in best["offload"]]
    what = " and ".join(filter(None, (", ".join(held[:-1]), held[-1])))
    draw.say(
        f"offload: {what} in the host's memory. Take the step as a lower limit: a published run that did so slowed down more.",
        draw.DIM,
    )


def _traffic(traffic: Sequence[Mapping[str, Any]]) -> None:
    if not traffic:
        return
    rows = [
        (row["parallelism"], row["wire"], "in the box" if row["inside_box"] else "between boxes", show(row["bytes"], "B"))
        for row in traffic
    ]
    draw.table(["parallelism", "link", "where", "sent per device"], rows, left=("parallelism", "link", "where"))


def _outlook(result: Mapping[str, Any], best: Mapping[str, Any], notes: bool) -> None:
    stops, more = result["failures"], result["doubling"]
    low, high = map(significant, result["published_over_predicted"])
    runs = f"four of five published {result['stack']} runs took {low} to {high}× the time predicted for them"
    if result["stack"] not in stacks():
        runs = f"four of five runs should take {low} to {high}× the time predicted, which is the range in your stack's file"
    elif not result["published_on_machine"]:
        runs = f"none of the published runs that this rests on was like this one, so the range, {low} to {high}×, is wider"
    unit = f"{significant(stops['unit_mtbf_s'] / 3600)} h per device"
    state = f"a checkpoint of {show(stops['state_bytes'], 'B')} takes {show(stops['save_s'], 's')}"
    rest = f"writing {share(stops['writing'])}, lost work {share(stops['lost'])}, restarts {share(stops['restart'])}"
    draw.pairs([
        ("throughput", _speed(best)),
        ("failures", f"one every {show(stops['mtbf_s'], 's')} ({unit}); {state}"),
        ("save every", show(stops["interval_s"], "s")),
        ("goodput", f"{share(stops['goodput'])}; {rest}"),
        ("per day", f"{significant(stops['tokens_per_day'] / 1e9)} billion tokens; MFU with failures {share(stops['mfu'])}"),
        ("costs", _costs(result["costs"])),
        ("the next doubling", _next(more)),
        ("rests on", f"{BASES[result['basis']]}; {runs}"),
    ])  # fmt: skip
    if notes:
        rests = (sources(result["costs"]), f"Energy: {result['costs']['energy']}.", *(f"{source}." for source in result["sources"]))
        draw.say(" ".join(filter(None, rests)), draw.DIM)


def _speed(best: Mapping[str, Any]) -> str:
    near = f"{share(best['mfu'])} ({_between(best['mfu_range'], share)})"
    return f"{significant(best['tokens_per_s'])} tokens/s; MFU {near}, HFU {share(best['hfu'])}"


def _costs(about: Mapping[str, Any]) -> str:
    power = f"energy {show(about['joules_per_million_tokens'], 'J')} per million tokens at most"
    if about["dollars_per_hour"] is None:
        return f"no price is known; give one with --price {about['unpriced'][0]}=…; {power}"
    a_day, each = (significant(value) for value in (24 * about["dollars_per_hour"], about["dollars_per_million_tokens"]))
    near = _between(about["dollars_range"], lambda value: f"${significant(value)}")
    return f"${a_day} per day, ${each} per million tokens with failures ({near}); {power}"


def _next(more: Mapping[str, Any] | None) -> str:
    if more is None:
        return "twice as many devices can't divide this batch; try a larger --batch-tokens"
    gain = f"{show(more['step_s'], 's')} per step, {significant(more['speedup'])}× as fast, MFU {share(more['mfu'])}"
    return f"{more['devices']:,} devices: {gain} ({more['label']})"
