"""Which box a context stands for: its cards, and how they are joined."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.links import Box, Interconnect
from ironlaw.measure.experiments import staircase_trial
from ironlaw.measure.software_host import cores
from ironlaw.registry.boxes import box

BOXES = {"a100_80gb_pcie": "a100_pairs", "h100_pcie": "h100_pairs", "a100_80gb_sxm": "dgx_a100", "h100_sxm": "dgx_h100"}
OWN = "this_machine"  # its cores as ranks, which hand messages on through shared memory
STORY = "a100_pairs"  # the lead's own boxes
MOST = 8  # ranks of one box that a picture has room for


def box_of(lab: kit.Lab) -> Box:
    """The context's box; this machine's cores as ranks where its staircase was measured, else the story's box."""
    slug = BOXES.get(lab.current_context.slug)
    return box(slug) if slug else own_box(lab) or box(STORY)


def own_box(lab: kit.Lab) -> Box | None:
    """Cores that hand messages on through memory they share: rate and start as measured."""
    run = lab.local_run("staircase")
    if run is None:
        return None
    whole = staircase_trial.STEPS[staircase_trial.SHARED][1]
    large, small = (run.row(kind="case", name=staircase_trial.SHARED, bytes=size) for size in (whole, staircase_trial.SMALL))
    if large is None or small is None:
        return None
    rate = whole / float(large["wall_s"])
    count = min(MOST, max(2, cores()))
    wire = Interconnect("shared_memory", "shared memory, to another process", rate, rate, rate, basis="measured")
    return Box(OWN, "This machine", lab.current_context.slug, count, count, wire, start=float(small["wall_s"]))


def most_ranks(box: Box) -> int:
    """The most ranks of one ring: two boxes if they have ports, else one."""
    return box.devices * (2 if box.nic else 1)
