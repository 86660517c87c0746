"""`ironlaw cluster`: how to spread a model's training over many devices, what a step takes, and what failures leave of it."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import Any

from ironlaw.cli.options import Parser, add_json, checked, figure, number_format, size
from ironlaw.cli.price_options import add_price, known_prices
from ironlaw.cli.show import cluster_layouts, draw
from ironlaw.engine.cluster.failures import goodput, mtbf, optimum
from ironlaw.engine.cluster.footprint import STATE, WEIGHT
from ironlaw.engine.cluster.layouts import Layout, check
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.search import Candidate, Job, Predictor, judge, rank
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.volumes import calls
from ironlaw.engine.costs import ENERGY, Offer
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.registry.prices import Price

SCHEMA = "ironlaw-cluster/1"  # of what --json writes
EXAMPLE = """
ironlaw cluster llama3_70b --devices 1024 --box dgx_h100 --batch-tokens 4M
ironlaw cluster gpt3_175b --devices 1024 --box dgx_a100 --batch-tokens 3M --top 3
ironlaw cluster llama3_405b --devices 16384 --box grand_teton_h100 --batch-tokens 16M --layout tp=8,pp=16,v=8,zero=1
"""
PREFIXES = {"": 1, "k": 2**10, "M": 2**20, "G": 2**30}  # 16 M tokens a step are 2²⁴, as publications count them
KEYS = {
    "tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "v": "virtual", "micro": "micro", "zero": "zero",
    "recompute": "recompute",
}  # fmt: skip
USUAL_SEQ = 8192
# How published runs came out over their prediction (registry/run): what a range rests on. A test computes both.
OUTCOMES = (0.99, 1.15)
STORAGE = 2e12  # bytes/s that Llama 3's file system sustained (arXiv:2407.21783, section 3.3.1)
DAY = 86400.0
LEAST = 1e-9  # tokens a second under which nothing is learned
RESTART = 300.0  # seconds to notice, replace and start again: a premise


@checked
def tokens(text: str) -> int:
    """`4M` -> 4 · 2²⁰."""
    match = re.fullmatch(r"\s*([\d_,]+)\s*([kMG]?)\s*", text)
    value = int(re.sub("[_,]", "", match[1])) * PREFIXES[match[2]] if match else 0
    if not 0 < value <= 2**40:
        raise BadValue(f"{text!r} is not a number of tokens; write one such as 4M (4 · 2²⁰) or 4194304")
    return value


@checked
def fixed(text: str) -> dict[str, Any]:
    """`tp=8,pp=4` -> fields of a layout."""
    found: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = entry.partition("=")
        if key not in KEYS:
            raise unknown("part of a layout", key, KEYS)
        if key != "recompute" and not value.isdigit():
            raise BadValue(f"{entry!r} has no whole number; write it as {key}=8")
        if KEYS[key] in found:
            raise BadValue(f"{key} is there twice; give it once")
        found[KEYS[key]] = value if key == "recompute" else int(value)
    if not found:
        raise BadValue("an empty layout; write one such as tp=8,pp=4, or leave --layout out to have all tried")
    return found


def add(parser: Parser) -> None:
    parser.usage = "ironlaw cluster MODEL --devices N --box BOX --batch-tokens N [options]"
    parser.add_argument(
        "model", metavar="MODEL", help="a decoder: one of `ironlaw workload`, or of a published run (gpt3_175b, llama3_405b)"
    )
    parser.add_argument("--devices", metavar="N", type=size, required=True, help="how many devices train it")
    parser.add_argument("--box", metavar="BOX", required=True, help="what they are in: dgx_h100, dgx_a100, dgx_h200, gb200_nvl72, …")
    parser.add_argument("--batch-tokens", metavar="N", type=tokens, required=True, help="tokens a step: 4M is 4 · 2²⁰")
    parser.add_argument("--seq", metavar="N", type=size, help="tokens of a sequence (default: 8192, or as many as the model has learned)")
    parser.add_argument("--dtype", metavar="FMT", type=number_format, default="bf16", help="number format of products (default bf16)")
    parser.add_argument("--layout", metavar="K=N,…", type=fixed, help=f"judge this one: {', '.join(KEYS)}; replicas take the rest")
    parser.add_argument("--top", metavar="N", type=size, default=8, help="layouts to show (default 8)")
    parser.add_argument(
        "--mtbf", metavar="TIME", type=figure("s"), help="mean time between failures of one device (default: as Llama 3's run had)"
    )
    parser.add_argument(
        "--restart", metavar="TIME", type=figure("s", zero=True), default=RESTART, help="to notice and start again (default 5 min)"
    )
    parser.add_argument("--storage", metavar="RATE", type=figure("B/s"), default=STORAGE, help="where checkpoints go (default '2 TB/s')")
    add_price(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    result = answer(args)
    draw.emit(result) if args.json else cluster_layouts.report(result)
    return 0


def answer(args: argparse.Namespace) -> dict[str, Any]:
    from ironlaw.registry.boxes import box
    from ironlaw.registry.decoder_shapes import decoder
    from ironlaw.registry.machines import hardware
    from ironlaw.systems.training.shard_times import BUSY, compute

    shape, at = decoder(args.model), box(args.box)
    chip = hardware(at.device)
    job = _job(args, shape, at, chip)

    def predictor(layout: Layout) -> Any:
        return compute(shape, layout, job.seq, at.device, args.dtype)

    known = known_prices([chip], args.price)
    ranked = [_given(args, job, predictor)] if args.layout else rank(job, args.devices, predictor)
    best = ranked[0]
    failures = _failures(args, shape, best)
    return {
        "schema": SCHEMA, "model": shape.name, "parameters": shape.parameters, "devices": args.devices, "box": at.slug,
        "hardware": chip.slug, "basis": chip.basis(BUSY), "batch_tokens": args.batch_tokens, "seq": job.seq, "batch": job.batch,
        "dtype": args.dtype,
        "usable_bytes": job.capacity, "layouts_that_fit": len(ranked), "layouts": [_row(one, job) for one in ranked[: args.top]],
        "traffic": _traffic(best, job), "failures": failures,
        "costs": _costs(args, chip, known.get(chip.slug), failures["tokens_per_day"] / DAY),
        "doubling": _doubling(args, job, best, predictor),
        "published_over_predicted": OUTCOMES, "sources": list(at.sources),
    }  # fmt: skip


def _job(args: argparse.Namespace, shape: Shape, at: Box, chip: Hardware) -> Job:
    seq = args.seq or shape.positions or USUAL_SEQ
    if shape.positions and seq > shape.positions:
        raise BadValue(f"{shape.name} has learned {shape.positions:,} positions; give --seq of at most that", "seq")
    if args.batch_tokens % seq:
        near = max(1, round(args.batch_tokens / seq)) * seq
        raise BadValue(
            f"{args.batch_tokens:,} tokens are not whole sequences of {seq:,}; give --batch-tokens {near}, or another --seq", "batch_tokens"
        )
    return Job(shape, at, args.batch_tokens // seq, seq, float(chip.usable), float(chip.peak(args.dtype)))


def _given(args: argparse.Namespace, job: Job, compute: Predictor) -> Candidate:
    """The layout of --layout, whatever its memory; replicas take the devices that are left."""
    one = Layout(**args.layout)
    if args.devices % one.devices:
        raise BadValue(
            f"{args.devices:,} devices do not divide by {one.devices:,} ({one}); give a layout whose product divides them", "layout"
        )
    one = replace(one, data=args.devices // one.devices)
    check(job.shape, one, job.batch, job.seq)
    return judge(job, one, compute)


def _row(one: Candidate, job: Job) -> dict[str, Any]:
    layout = one.layout
    fields = ("tensor", "pipeline", "context", "data", "expert", "virtual", "micro", "recompute", "zero")
    return {
        **{name: getattr(layout, name) for name in fields}, "label": str(layout), "micro_batches": one.micro_batches,
        "step_s": one.time.total,
        "parts_s": one.time.parts, "tokens_per_s": one.speed.tokens_per_s, "mfu": one.speed.mfu, "hfu": one.speed.hfu,
        "memory_bytes": one.memory.total, "fits": one.memory.total <= job.capacity,
        "memory": {name: float(getattr(one.memory, name)) for name in ("weights", "gradients", "optimiser", "activations")},
    }  # fmt: skip


def _traffic(one: Candidate, job: Job) -> list[dict[str, Any]]:
    """Bytes that a device sends in a step, and over which wire."""
    made = calls(job.shape, one.layout, job.seq, one.micro_batches, job.box.devices)
    near = {kind: all(call.ranks <= call.per_box for call in group) for kind, group in made.items()}
    near["pipeline"] = one.layout.devices <= job.box.devices
    inside, outside = job.box.link or job.box.bridge, job.box.nic
    wires = {True: inside.name if inside else None, False: outside.name if outside else None}
    return [{"parallelism": kind, "wire": wires[near[kind]], "inside_box": near[kind], "bytes": sent} for kind, sent in one.traffic.items()]


def _failures(args: argparse.Namespace, shape: Shape, one: Candidate) -> dict[str, Any]:
    """The exact interval between checkpoints, and what is left of the time."""
    from ironlaw.registry.runs import unit_between_failures

    unit = args.mtbf or unit_between_failures("llama3_2024")
    state = (WEIGHT + STATE) * shape.parameters
    save = state / args.storage
    between = float(mtbf(unit, args.devices))
    interval = optimum(save, between)
    shares = goodput(interval, save, args.restart + save, between)
    return {
        "unit_mtbf_s": unit, "mtbf_s": between, "state_bytes": state, "save_s": save, "restart_s": args.restart + save,
        "interval_s": interval,
        "goodput": shares.goodput, "writing": shares.writing, "restart": shares.restart, "lost": shares.lost,
        "mfu": one.speed.mfu * shares.goodput, "tokens_per_day": one.speed.tokens_per_s * DAY * shares.goodput,
    }  # fmt: skip


def _costs(args: argparse.Namespace, chip: Hardware, price: Price | None, tokens_per_s: float) -> dict[str, Any]:
    """A million tokens of training, what failures cost included: every device is paid and powered all the time."""
    if tokens_per_s <= LEAST:
        raise BadValue("failures come so often that no step is ever saved; give a longer --mtbf, a faster --storage or fewer devices")
    offer = Offer(chip.slug, 1.0, tokens_per_s, float(chip.power), price.per_hour if price else None, args.devices)
    return {
        "dollars_per_hour": price.per_hour * args.devices if price else None, "dollars_per_million_tokens": offer.dollars,
        "joules_per_million_tokens": offer.joules, "energy": ENERGY, "unpriced": [] if price else [chip.slug],
        "prices": {chip.slug: price.as_dict()} if price else {},
    }  # fmt: skip


def _doubling(args: argparse.Namespace, job: Job, best: Candidate, compute: Predictor) -> dict[str, Any] | None:
    """Twice as many devices with the same batch: the best layout, or a given one with twice the replicas; None where none will do."""
    try:
        if args.layout:
            more = judge(job, replace(best.layout, data=2 * best.layout.data), compute)
        else:
            more = rank(job, 2 * args.devices, compute)[0]
    except IronlawError:
        return None
    return {
        "devices": 2 * args.devices, "label": str(more.layout), "step_s": more.time.total, "mfu": more.speed.mfu,
        "speedup": best.time.total / more.time.total,
    }  # fmt: skip
