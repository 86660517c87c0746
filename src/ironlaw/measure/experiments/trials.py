"""What a lab can measure on the learner's machine, as rows of evidence. Each is a few seconds of work.

A trial gets a Bench, which has the device and times its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ironlaw.errors import MissingExtra
from ironlaw.measure.clock import Timing
from ironlaw.measure.devices.device import BLOCKED, COMPILED, EAGER, Call, Device, Shape
from ironlaw.measure.experiments import (
    batches,
    checkpointing,
    collectives_trial,
    compression,
    dp_sgd,
    energy_trial,
    fan_out,
    keyword_spotter,
    kv_decode,
    line_trial,
    memory_trial,
    omission,
    pgd,
    resample,
    scaling_trial,
    stages_trial,
    staircase_trial,
    tails_trial,
    train_here,
    workers,
)
from ironlaw.measure.experiments.bench import STEP, Bench
from ironlaw.measure.rows import Draft, function_row, launch_row, op_row, rounded

OPS = 1_000  # tiny ops in one sample
SHAPES: tuple[Shape, ...] = ((64, 64), (1024, 768), (4096, 1024))  # 16 KiB to 16 MiB in FP32
COMPILED_SHAPE: Shape = (1024, 768)  # the lab's own: the one shape that a CPU compiles for
LENGTHS = (1, 4, 8, 24)
WIDE: Shape = (8192, 2048)  # of the pointwise chains: 64 MiB in FP32, larger than the caches of most machines
SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
LONGEST_S = 0.4  # a single product that takes longer ends the sweep
BATCHES = (1, 8, 32)
TINY = ("add", "mul", "relu", "sum", "layer_norm", "matmul")  # of a device's launches


def three_op_chain(bench: Bench) -> Iterator[Draft]:
    """LayerNorm, dropout, ReLU: each over the whole tensor, and in one pass."""
    cases = [(f"{words(mode)}, {shape[0]:,} × {shape[1]:,}", (shape, mode)) for shape, mode in _modes(bench.device, SHAPES, COMPILED_SHAPE)]
    for shape, mode in bench.each(cases):
        yield _function(
            bench, "layernorm_dropout_relu", {"shape": list(shape)}, mode, partial(bench.device.layernorm_dropout_relu, shape, mode)
        )


def pointwise_chain(bench: Bench) -> Iterator[Draft]:
    """Chains of pointwise ops, op by op and in one pass."""
    kinds = {n: tuple(STEP[i % len(STEP)] for i in range(n)) for n in LENGTHS}
    cases = [(f"{words(mode)}, {n} ops", (n, mode)) for n, mode in _modes(bench.device, LENGTHS, LENGTHS[-1])]
    for n, mode in bench.each(cases):
        params = {"shape": list(WIDE), "ops": n}
        yield _function(bench, "pointwise_chain", params, mode, partial(bench.device.pointwise_chain, kinds[n], WIDE, mode))


def gemm_sweep(bench: Bench) -> Iterator[Draft]:
    """Square products, until one takes too long."""
    cases = [(f"{dtype.upper()}, N = {n:,}", (n, dtype)) for dtype in dict.fromkeys(("fp32", bench.device.default_format)) for n in SIZES]
    ended: set[str] = set()
    for n, dtype in bench.each(cases):
        if dtype in ended:
            continue
        timing = bench.time(bench.device.gemm(dtype, n), least=5, warmup=2)
        if timing.median * 8 > LONGEST_S:  # twice the side is eight times the work
            ended.add(dtype)
        yield op_row("matmul", {"m": n, "n": n, "k": n, "dtype": dtype}, timing.row())


def tiny_ops(bench: Bench) -> Iterator[Draft]:
    """What one op costs the host when it has next to nothing to compute: queued back to back, and waited for one by one."""
    clock, calls = bench.clock, {"nothing": _nothing, **_tiny(bench.device)}
    assert clock is not None
    for name in bench.each([(f"{OPS:,} times {name}", name) for name in calls]):
        call = calls[name]

        def queue(call: Call = call) -> None:
            for _ in range(OPS):
                call()

        def wait(call: Call = call) -> None:
            for _ in range(OPS):
                call()
                clock.sync()

        queued, waited = (_each(bench.time(run, batch=1, warmup=1)) for run in (queue, wait))
        row = waited.row()
        sync = {"sync_s": row["wall_s"], "sync_low_s": row["low_s"], "sync_high_s": row["high_s"]}
        yield launch_row(name, queued.row() | sync, params={"dtype": bench.device.default_format})


def ds_cnn(bench: Bench) -> Iterator[Draft]:
    """The keyword spotter, eager, at a few batches; on a GPU also queued and replayed as a graph."""
    if bench.device.library != "torch":
        raise MissingExtra("the keyword spotter needs PyTorch, which is not installed here; install it with: pip install torch")
    for batch in bench.each([(f"batch {batch}", batch) for batch in BATCHES]):
        yield from keyword_spotter.rows(bench, batch)


TRIALS: dict[str, Callable[[Bench], Iterator[Draft]]] = {
    "three_op_chain": three_op_chain, "gemm_sweep": gemm_sweep, "pointwise_chain": pointwise_chain, "ds_cnn": ds_cnn, "tiny_ops": tiny_ops,
    "stages": stages_trial.rows, "workers": workers.rows, "omission": omission.rows, "fan_out": fan_out.rows,
    "line": line_trial.rows, "batches": batches.rows, "ledger": memory_trial.rows,
    "resample": resample.rows, "train_here": train_here.rows,
    "collectives": collectives_trial.rows, "scaling": scaling_trial.rows, "staircase": staircase_trial.rows, "kv_decode": kv_decode.rows,
    "checkpointing": checkpointing.rows,
    "dp_sgd": dp_sgd.rows, "energy": energy_trial.rows, "pgd": pgd.rows, "tails": tails_trial.rows,
    "bits": compression.bits, "formats": compression.formats,
}  # fmt: skip
WAYS = {EAGER: "op by op", BLOCKED: "in one pass, block by block", COMPILED: "compiled into one kernel"}


def words(mode: str) -> str:
    return WAYS[mode]


def _modes(device: Device, cases: Sequence[Any], compiled: Any) -> list[tuple[Any, str]]:
    """(case, mode): every case op by op and in each fused way; a processor, whose compiler takes its time, compiles one case."""
    once = device.kind.on_host
    return [
        (case, mode) for case in cases for mode in (EAGER, *device.fused_modes()) if not (once and mode == COMPILED and case != compiled)
    ]


def _tiny(device: Device) -> dict[str, Call]:
    calls = device.launches()
    return {op: calls[op] for op in TINY if op in calls}


def _function(bench: Bench, name: str, params: Draft, mode: str, make: Callable[[], Call]) -> Draft:
    clock = bench.clock
    assert clock is not None
    start = clock.now()
    call = make()
    spent = clock.now() - start
    compiling = {"compile_s": rounded(spent)} if mode == COMPILED else {}
    return function_row(name, {**params, "dtype": "fp32"}, mode, bench.time(call, least=5, warmup=2).row() | compiling)


def _each(timing: Timing) -> Timing:
    """One of the ops of a sample."""
    return Timing(timing.median / OPS, timing.low / OPS, timing.high / OPS, timing.best / OPS, timing.count, OPS)


def _nothing() -> None:
    """A call and nothing else: what the loop itself takes."""
