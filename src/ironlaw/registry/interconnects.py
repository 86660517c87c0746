"""registry/interconnect/*.toml -> Interconnect: advertised, one direction, and what a long message reaches."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ironlaw.engine.cluster.links import Interconnect
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry.loader import figure, folder, normal, read, slugs

FIGURES = ("advertised", "per_direction", "achieved")
# how [achieved] is known -> what a page calls it
BASES = {
    "planned": "as NCCL plans with it", "fitted": "fitted to timed collectives", "reported": "as users report it",
    "derived": "estimated from another wire", "measured": "as measured",
}  # fmt: skip


def interconnects() -> tuple[str, ...]:
    """The slugs of all wires."""
    return slugs("interconnect")


@cache
def interconnect(name: str) -> Interconnect:
    """A wire by slug: `interconnect("nvlink4")`."""
    if normal(name) not in interconnects():
        raise unknown(
            "interconnect", name, interconnects(), f"registry/interconnect/{normal(name)}.toml with its figures and their sources"
        )
    return load(folder("interconnect") / f"{normal(name)}.toml")


def load(path: Path) -> Interconnect:
    """One wire from one file. None is faster than it is built for, and one direction is the printed figure's share."""
    data = read(path)
    name, directions = data.get("name"), data.get("directions")
    if not isinstance(name, str) or not name:
        raise BadRegistry(f"{path.name} has no name; add `name = …` there")
    if directions not in (1, 2):
        raise BadRegistry(f"{path.name}: directions is {directions!r}; write 2 where the printed figure adds both up, else 1")
    for key in FIGURES:
        if key not in data:
            raise BadRegistry(f"{path.name} has no [{key}]; add it with value, source and date")
    advertised, per_direction, achieved = (figure(f"{path.name} [{key}]", data[key], "B/s").value for key in FIGURES)
    if abs(advertised / directions / per_direction - 1) > 1e-6:
        raise BadRegistry(f"{path.name}: [per_direction] is not [advertised] over {directions}; check both")
    if achieved > per_direction:
        raise BadRegistry(f"{path.name}: [achieved] is above [per_direction]; check both")
    basis = data["achieved"].get("basis")
    if basis not in BASES:
        raise BadRegistry(f"{path.name} [achieved]: basis is {basis!r}; say how the figure is known: {', '.join(BASES)}")
    return Interconnect(path.stem, name, per_direction, achieved, advertised, directions, basis)
