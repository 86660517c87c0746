"""Act II: model, boxes and groups to the parts of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.volumes import tensor_bytes
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_02_interconnect.act2 import figures, verdict
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import STORY, TENSOR, Case, box_for, boxes_at_most, case_of, premise
from ironlaw.widget.figure import tabbed

CLAIMS = ("tensor_parallelism_stays_inside", "data_parallelism_hides", "tensor_group_is_free_on_nvlink")
FOLLOWS = ("boxes", "nics", "tensor")
SEEN = 0.005  # of the step: what a difference must be to be worth a sentence
MORE = ("model", "seq")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        at = box_for(lab)
        most = boxes_at_most(at)
        boxes = min(round(values.get("boxes") or 2), most)
        asked = premise() if at.slug == STORY else None
        devices = boxes * at.devices
        barred = {size: f"does not divide {devices} devices" for size in TENSOR if devices % size}
        return settings.dials(
            Case, boxes={"high": max(2, most), "value": min(2, most), "hidden": most == 1},
            nics={"high": max(2, at.nics), "value": asked.nics if asked else max(1, at.nics), "hidden": boxes == 1},
            tensor={"value": asked.tensor if asked else min(at.devices, 8), "disabled": barred},
        )  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(box_for(lab), values)
    return kit.View(
        figures=[
            tabbed(figures.on_wires(lab, case, shares()), "On wires"), tabbed(figures.step(lab, case), "The step"),
            tabbed(figures.memory(case), "Memory"),
        ],
        cards=cards(case),
        formula=formula(case),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, case),
        note=kit.html(notes(lab, case)),
        readouts=readouts(case),
    )  # fmt: skip


def shares() -> dict[str, float]:
    """The question's two shares in percent: the group inside a box, and over both."""
    return {"in one box": 100 * premise(8).placed.tensor_share, "over both": 100 * premise().placed.tensor_share}


def cards(case: Case) -> list[dict[str, Any]]:
    placed = case.placed
    step = placed.step
    good = placed.communication <= verdict.ALL_MOST
    return [
        kit.card("On wires", 100 * placed.communication, "%", tone="good" if good else "bad", note="of the step"),
        kit.card("Tensor group", 100 * placed.tensor_share, "%", note="of the passes"),
        kit.card("Exposed gradients", step.data, "s", note="after the backward pass"),
        kit.card("Step", step.total, "s"),
        kit.card("Tokens", placed.tokens_per_s, "/s"),
    ]


def formula(case: Case) -> str:
    """What one device of a group sends in a step."""
    shape = case.placed.shape
    sent = float(tensor_bytes(shape.layers, shape.hidden, case.seq, case.micro, case.tensor))
    t = case.tensor
    symbols = ("4<i>L</i> ·", fraction("2(<i>t</i> − 1)", "<i>t</i>"), "· 2<i>b</i><i>s</i><i>h</i>")
    figures_in = (f"4 × {shape.layers} ·", fraction(f"2 × {t - 1}", str(t)), f"· 2 × {case.micro} × {case.seq:,} × {shape.hidden:,}")
    return line("sent by a device of the group =", *symbols) + line("=", *figures_in, "=", kit.amount(sent, "B"))


def notes(lab: kit.Lab, case: Case) -> str:
    texts = [lab.fill("act2.own_machine")] if lab.current_context.slug == LOCAL else []
    if case.boxes > 1:
        texts.append(network_note(lab, case))
    texts.append(lab.fill("act2.arithmetic", machine=case.placed.box.name))
    return "\n\n".join(texts)


def network_note(lab: kit.Lab, case: Case) -> str:
    """What the estimated latency between boxes does to the step."""
    near = replace(case, box=replace(case.box, network_start=case.box.start))
    start, share, without = kit.amount(case.box.network_start, "s"), case.placed.communication, near.placed.communication
    if share - without < SEEN:
        return lab.fill("act2.network_hidden", start=start)
    return lab.fill("act2.network_start", start=start, share=kit.amount(100 * share, "%"), without=kit.amount(100 * without, "%"))


def readouts(case: Case) -> dict[str, Any]:
    placed = case.placed
    return {
        **settings.values(case, "model", "boxes", "tensor", "data", "micro", "seq", "zero", "overlap"), "box": case.box.slug,
        "nics": case.nics if case.box.nic else 0, "step_s": placed.step.total,
        "tensor_share": round(placed.step.tensor / placed.step.total, 6), "communication_share": round(placed.communication, 6),
        "constraint_hit": settings.broken(verdict.LIMITS, case),
    }  # fmt: skip
