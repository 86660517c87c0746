"""The machines of both acts: the lab's contexts, more from the registry, and what a picture calls each."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.kit.context import LOCAL, pick
from ironlaw.registry.machines import hardware

# slug -> what a line in a picture calls it
SHORT = {
    "h100_sxm": "H100", "orin_nx_16gb": "Orin NX", "a100_80gb_sxm": "A100", "h200_sxm": "H200", "b200": "B200", "mi300x": "MI300X",
    "tpu_v5e": "TPU v5e", "a17_npu": "A17 NPU", "laptop_cpu": "laptop CPU", LOCAL: "this machine",
}  # fmt: skip
MEASURED_MACHINE = "h200_sxm"  # where the evidence of this lab comes from


def options(lab: kit.Lab) -> list[tuple[str, str]]:
    """For a menu: the contexts first, then the others by name."""
    contexts = [(context.slug, context.menu_label) for context in lab.contexts]
    listed = {slug for slug, _ in contexts}
    return contexts + [(slug, hardware(slug).name) for slug in SHORT if slug not in listed and slug != LOCAL]


def machine(lab: kit.Lab, slug: str) -> Hardware:
    return pick(lab.contexts, slug).hardware if slug == LOCAL else hardware(slug)


def short(slug: str) -> str:
    return SHORT.get(slug, slug)


def named(slug: str) -> str:
    """The machine as a sentence names it: "the H100", "this machine"."""
    return short(slug) if slug == LOCAL else f"the {short(slug)}"


KINDS = {"calibrated": "measured curves", "transferred": "≈ from other machines", "bound": "datasheet (a bound)"}  # of times, in pictures


def best_kind(machine: Hardware) -> str:
    """The nearest to its real times that a machine can be predicted: its own curves, other machines', or its datasheet."""
    return machine.basis(Plan())


def no_curves(slug: str) -> str:
    """Why a machine is predicted by its datasheet alone."""
    return "this machine has too few measurements to fit curves" if slug == LOCAL else f"the {short(slug)} was not measured"


def missing_formats(machine: Hardware, formats: Sequence[str]) -> dict[str, str]:
    """Formats that a machine has no peak for -> why they can't be chosen."""
    has = ", ".join(fmt.upper() for fmt in formats if fmt in machine.peaks)
    return {fmt: f"{named(machine.slug)} has no {fmt.upper()} rate; it has {has}" for fmt in formats if fmt not in machine.peaks}
