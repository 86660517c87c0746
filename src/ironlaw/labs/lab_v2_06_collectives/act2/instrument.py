"""Act II: model, devices, buckets and algorithm to what of the sum shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_06_collectives.act2 import figures, verdict
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import (
    ALGORITHMS,
    AS_MADE,
    BUCKET,
    BUCKETS,
    DEVICES,
    FORMATS,
    MICRO,
    MODELS,
    ORDERS,
    SEQUENCES,
    TENSOR,
    Case,
    box_for,
    case_of,
    design_02,
    first_case,
    premise,
)  # fmt: skip
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import ALPHAS
from ironlaw.registry.workloads import about
from ironlaw.systems.training.bucketed_steps import TUNER
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("default_bucket_is_right", "bigger_buckets_are_better", "sums_hide_behind_the_pass")


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        first = first_case(lab)
        begins = {"help": lab.fill("act2.begins")} if design_02(lab) else {}
        return [
            {**kit.select("model", "Model", [(name, about(name)["name"]) for name in MODELS], first.model), **begins},
            kit.select("devices", "Devices", [(count, f"{count:,}") for count in DEVICES], first.devices),
            kit.span("bucket", "Bucket", BUCKETS[0] / 1e6, BUCKETS[1] / 1e6, BUCKET / 1e6, log=True, unit="MB"),
            kit.select("algorithm", "Summed by", list(ALGORITHMS.items()), first.algorithm),
            kit.choice("width", "Gradients in", list(FORMATS.items()), first.width),
            kit.choice("order", "Buckets go out", list(ORDERS.items()), AS_MADE),
            kit.choice("tensor", "Tensor parallelism over", [(size, str(size)) for size in TENSOR], first.tensor),
            kit.choice("micro", "Sequences a replica", [(count, str(count)) for count in MICRO], first.micro),
            kit.select("seq", "Tokens in a sequence", [(count, f"{count:,}") for count in SEQUENCES], first.seq),
            kit.choice("zero", "Optimiser's state", [(0, "on each device"), (1, "split (ZeRO-1)")], first.zero),
            kit.span("alpha", "A step takes", 1e6 * ALPHAS[0], 1e6 * ALPHAS[1], 1e6 * first.alpha, log=True, unit="µs"),
            kit.span("beta", "A port carries", 1, 400, first.beta / 1e9, log=True, unit="GB/s"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(box_for(lab), values)
    own = figures.said(lab, shares())
    return kit.View(
        figures=[
            tabbed(figures.over_time(case), "Over time"), tabbed(figures.by_bucket(case), "By bucket"),
            tabbed(figures.memory(case), "Memory"),
            *([tabbed(own, "Your answer")] if own else []),
        ],
        cards=cards(case),
        formula=formula(case),
        banner=verdict.banner(lab, case),
        note=kit.html(notes(lab, case)),
        readouts=readouts(case),
    )  # fmt: skip


def shares() -> dict[str, float]:
    """The question's two shares in percent: the ring's, and the double tree's."""
    return {name: 100 * premise(algorithm=key).step.latency_share for name, key in (("ring", "ring"), ("double tree", "double_tree"))}


def cards(case: Case) -> list[dict[str, Any]]:
    step = case.step
    tone = "good" if step.exposed_share <= verdict.GOAL else "bad" if step.exposed_share > verdict.EXPOSED_MOST else "middling"
    cold = step.latency_share > verdict.LATENCY_MOST
    return [
        kit.card("After the pass", 100 * step.exposed_share, "%", tone=tone, note="of the step"),
        kit.card("Steps", 100 * step.latency_share, "%", tone="bad" if cold else "good", note="of the communication"),
        kit.card("Backward pass", step.queue.backward, "s"),
        kit.card("All sums", step.queue.seconds, "s", note=f"{step.queue.count:,} buckets"),
        kit.card("Step", step.step.total, "s"),
    ]


def formula(case: Case) -> str:
    """What one bucket takes, and how many of them there are."""
    step = case.step
    name = step.wires.fastest(case.data, step.queue.full) if case.algorithm == TUNER else case.algorithm
    terms = step.wires.terms(name, case.data, step.queue.full)
    one = line(
        f"one bucket, {ALGORITHMS[name]} =", kit.term("overhead", kit.amount(float(terms.latency), "s")), "+",
        kit.term("memory", kit.amount(float(terms.bandwidth), "s")),
    )  # fmt: skip
    count = fraction(kit.amount(step.queue.gradients, "B"), kit.amount(step.queue.full, "B"))
    return one + line("buckets =", count, "=", significant(step.queue.gradients / step.queue.full, 4), "→", f"{step.queue.count:,}")


def notes(lab: kit.Lab, case: Case) -> str:
    texts = [lab.fill("act2.arithmetic", machine=case.box.name)]
    if case.zero:
        texts.append(lab.fill("act2.gather"))
    if case.algorithm == TUNER:
        texts.append(lab.fill("act2.tuner", name=ALGORITHMS[case.step.wires.fastest(case.data, case.step.queue.full)]))
    return "\n\n".join(texts)


def readouts(case: Case) -> dict[str, Any]:
    hit, step = verdict.state(case), case.step
    return {
        "model": case.model, "box": case.box.slug, "devices": case.devices, "tensor": case.tensor, "data": case.data, "micro": case.micro,
        "seq": case.seq, "zero": case.zero, "gradient_bytes": case.width, "bucket_bytes": round(case.bucket), "algorithm": case.algorithm,
        "order": case.order, "network_alpha_s": case.alpha, "network_beta_bytes_per_s": round(case.beta),
        "exposed_s": step.queue.exposed, "exposed_share": round(step.exposed_share, 6), "latency_share": round(step.latency_share, 6),
        "step_s": step.step.total, "constraint_hit": hit if verdict.TONES[hit] == "fail" else None,
    }  # fmt: skip
