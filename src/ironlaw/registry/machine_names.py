"""What people may call a machine of registry/hardware."""

from __future__ import annotations

from functools import cache

from ironlaw.calibration import local_machine
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder, normal, read, slugs


@cache
def aliases() -> dict[str, str]:
    """Every name that people may type -> slug. Two machines can't share one."""
    names = dict.fromkeys(local_machine.NAMES, local_machine.SLUG)
    for slug in slugs("hardware"):
        for name in (slug, *read(folder("hardware") / f"{slug}.toml").get("aliases", ())):
            other = names.setdefault(normal(name), slug)
            if other != slug:
                raise BadRegistry(f"alias {name!r} of hardware {slug} belongs to {other} already; give it another")
    return {name: slug for name, slug in names.items() if slug != local_machine.SLUG}
