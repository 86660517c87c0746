"""registry/trained/*.toml -> small nets that were trained for the labs: where their weights and test images lie, and what is known of them.

No array is read here: `measure/compression.py` does that, with NumPy. The hash of the weights' file is checked before anybody does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder, open_by_name, require, slugs

HEAD = ("name", "source", "license", "date", "seed", "tested", "sha256", "nets")


@dataclass(frozen=True, slots=True)
class Trained:
    """A family of nets over one set of test images."""

    slug: str
    name: str
    source: str
    license: str
    date: str
    seed: int
    tested: int  # images
    sha256: str
    nets: Mapping[str, Mapping[str, int]]  # name -> parameters, hits
    students: Mapping[str, tuple[int, ...]]  # kind -> hits by seed

    def weights_file(self) -> Path:
        """The .npz beside the TOML, whose hash is the one that is stated."""
        path = folder("trained") / f"{self.slug}.npz"
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise BadRegistry(f"trained {self.slug}: {path.name} can't be read ({error.strerror}); restore it beside its .toml") from None
        if digest != self.sha256:
            raise BadRegistry(
                f"trained {self.slug}: {path.name} is not the file that was trained; restore it, or train and write both again"
            )
        return path


def trained_nets() -> tuple[str, ...]:
    return slugs("trained")


@cache
def trained(name: str) -> Trained:
    """A family by its slug: `trained("digits")`."""
    return parse_head(*open_by_name("trained", name, "trained net", " and its .npz"))


def parse_head(slug: str, data: Mapping[str, Any]) -> Trained:
    require(f"trained {slug}", data, HEAD)
    nets = data["nets"]
    for net, figures in nets.items():
        if not (figures.get("parameters", 0) > 0 and 0 <= figures.get("hits", -1) <= data["tested"]):
            raise BadRegistry(f"trained {slug}: net {net} needs its parameters, and hits of at most {data['tested']}; write both")
    words = {key: str(data[key]) for key in ("name", "source", "license", "date", "sha256")}
    students = {kind: tuple(hits) for kind, hits in data.get("students", {}).items()}
    return Trained(slug, seed=int(data["seed"]), tested=int(data["tested"]), nets=nets, students=students, **words)
