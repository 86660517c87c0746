"""The kinds of device that can be measured, and what each is to the registry, whichever library drives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import unknown

WATTS_PER_CORE = 5.0


@dataclass(frozen=True, slots=True)
class Kind:
    """`registry`: names that the registry's files give its backend, the usual one first."""

    name: str
    registry: tuple[str, ...]
    on_host: bool = False  # the processor itself: a call returns when its work is done
    watts: float = 0.0  # assumed where no limit can be read; 0: by the number of processors
    why: str = ""

    def power(self, cores: int) -> tuple[float, str]:
        """Watts where no limit can be read, and why so many."""
        if self.watts:
            return self.watts, self.why
        return WATTS_PER_CORE * cores, f"{WATTS_PER_CORE:g} W for each of {cores} processors, {self.why}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind("cpu", ("cpu",), on_host=True, why="as server processors of 80 to 128 cores have it."),
        Kind("cuda", ("cuda", "rocm"), watts=300.0, why="300 W is assumed, as accelerators of a server have it."),
        Kind("mps", ("mps", "coreml"), watts=30.0, why="30 W is assumed, as a laptop's GPU has it."),
    )
}


def kind_of(machine: Mapping[str, Any]) -> Kind:
    """The kind of device that a machine's description names. One that is not known is an error, and never taken for a processor."""
    name = str(machine.get("backend", ""))
    if name not in KINDS:
        raise unknown("kind of device", name, KINDS, "measure/devices/device_kinds.py")
    return KINDS[name]


def device_name(registry: str) -> str:
    """The device that the registry's backend is measured on: `coreml` -> `mps`."""
    return next((kind.name for kind in KINDS.values() if registry in kind.registry), registry)
