"""Which machine a context stands for. A language model is not served from this machine's cores: there it is the story's."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware
from ironlaw.kit.context import LOCAL
from ironlaw.registry.machines import hardware

STORY = "h100_sxm"


def machine_of(lab: kit.Lab) -> Hardware:
    slug = lab.current_context.slug
    return hardware(STORY if slug == LOCAL else slug)
