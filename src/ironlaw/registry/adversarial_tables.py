"""The digit readers under attack, as stored tables: what each setting of a lab's dials leaves of their answers. Read without NumPy.

`python -m ironlaw.measure.adversarial.tables` computes them with the functions of `measure/adversarial`,
from the weights in registry/trained.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from ironlaw.engine.numerics.shares import Share, clopper_pearson
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder
from ironlaw.registry.trained_nets import trained

PLAIN, MASKED, HARDENED = "plain", "masked", "hardened"
NETS = (PLAIN, MASKED, HARDENED)
FGSM, PGD, MARGIN = "fgsm", "pgd", "margin"
ATTACKS = (FGSM, PGD, MARGIN)
STEPS = (1, 5, 20, 50)
RESTARTS = (1, 5)
EPSILONS = tuple(round(0.02 * i, 2) for i in range(13))  # of the range of shades
SHOWN = (0, 1, 2, 3)  # images that are drawn
DRAWN_STEPS = 20
COLUMNS = ("net", "attack", "steps", "restarts", "epsilon", "hits")


@dataclass(frozen=True, slots=True)
class Drawn:
    """An image as an attack left it: 64 shades from 0 to 1, what it is, and what it is read as."""

    number: int
    label: int
    answer: int
    shades: tuple[float, ...]


def attacked(net: str, attack: str, steps: int, restarts: int, epsilon: float) -> Share:
    """Right answers to the test images after an attack; FGSM has one step and one start."""
    single = attack == FGSM
    return _share(net, attack, 1 if single else steps, 1 if single else restarts, f"{epsilon:g}")


@cache
def _share(net: str, attack: str, steps: int, restarts: int, epsilon: str) -> Share:
    key = (net, attack, str(steps), str(restarts), epsilon)
    if key not in _table():
        raise BadRegistry(f"registry/trained/digits_attacked.csv has no row {', '.join(key)}; choose a setting that was computed")
    return clopper_pearson(_table()[key], trained("digits").tested)


@cache
def _table() -> dict[tuple[str, ...], int]:
    with (folder("trained") / "digits_attacked.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    if tuple(header) != COLUMNS:
        raise BadRegistry(f"registry/trained/digits_attacked.csv has the columns {', '.join(header)}; compute it again (measure/attacked)")
    return {tuple(line[:-1]): int(line[-1]) for line in lines}


@cache
def drawn(net: str, attack: str, epsilon: float) -> tuple[Drawn, ...]:
    """The images of SHOWN after an attack: FGSM, or so many steps from one start as DRAWN_STEPS says."""
    from ironlaw.registry.compression_tables import image

    pictures = []
    for line in (folder("trained") / "digits_attacked.txt").read_text(encoding="utf-8").splitlines():
        name, kind, size, number, answer, shades = line.split()
        if (name, kind, size) == (net, attack, f"{epsilon:g}"):
            pixels = tuple(int(shades[i : i + 2], 16) / 255 for i in range(0, len(shades), 2))
            pictures.append(Drawn(int(number), image(int(number))[0], int(answer), pixels))
    return tuple(pictures)
