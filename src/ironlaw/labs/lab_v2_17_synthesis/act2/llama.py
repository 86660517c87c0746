"""Llama 3 405B beside the model, row by row: what was published, and what the same laws say for the same inputs."""

from __future__ import annotations

from ironlaw.engine import energy
from ironlaw.engine.cluster.failures import goodput, optimum
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.machines import hardware
from ironlaw.registry.publications import published
from ironlaw.registry.runs import about, between_failures, runs
from ironlaw.systems.training.layout_steps import layout_step
from ironlaw.systems.whole import halls
from ironlaw.systems.whole.design import DETECT, RESTART
from ironlaw.units import percent, show, significant

RUN, MODEL = "llama3_2024", "llama3_405b"
SAVE = 10.0  # seconds of a save; the paper does not say


def rows() -> list[tuple[str, str, str, str]]:
    """(what, published, by the model, from which inputs)"""
    run, whole = runs(RUN)[1], published("llama3_run").row(run=MODEL)
    flops, rate = 6.0 * float(run.shape.parameters) * float(whole["tokens"]), float(about(RUN)["row"][1]["device_flops"])
    step = layout_step(MODEL, run.box, run.layout, run.batch, run.seq)
    causal = step.speed.tokens_per_s * float(token_flops(run.shape, run.seq, "none", True)) / run.layout.devices
    effective = float(about(RUN)["interruptions"]["effective"])
    between = between_failures(RUN)
    lasts = float(goodput(optimum(SAVE, between), SAVE, DETECT + RESTART, between).goodput)
    hours = flops / causal / lasts / 3600.0
    family = published("llama31_training").row(model="all")
    spent = energy.of_run(1e6 * float(family["hours"]), float(hardware("h100_sxm").power))
    grams = [hall.grams_per_kwh for hall in halls().values()]
    tonnes = [energy.carbon(spent, each) / 1e6 for each in (min(grams), max(grams))]
    return [
        ("FLOP/s of a GPU", show(rate, "FLOP/s"), show(causal, "FLOP/s"), f"layout {run.layout} on {run.layout.devices:,} H100"),
        ("Between failures", show(between, "s"), show(between, "s"), "failures counted over the days; an input of the model"),
        ("Goodput", f"over {percent(effective)}", percent(lasts),
         f"saves of {show(SAVE, 's')}, {show(DETECT + RESTART, 's')} to restart, which are premises of this page and not of the paper"),
        ("GPU-hours", f"{significant(float(whole['hours']) / 1e6, 4)} million", f"{significant(hours / 1e6, 4)} million",
         f"{show(flops, 'FLOP')}, six for each parameter and token, at the rate and the share above"),
        ("Carbon of all three sizes", f"{float(family['tonnes']):,.0f} t", f"{tonnes[0]:,.0f} to {tonnes[1]:,.0f} t",
         f"{float(family['hours']):g} million GPU-hours at the rated power, on the cleanest and the dirtiest grid of this page"),
    ]  # fmt: skip


def table() -> str:
    return scrolling_table("Llama 3 405B, published and predicted", ("", "published", "by these laws", "from"), rows())
