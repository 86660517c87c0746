"""What a lab shows of the attacked readers where there is no NumPy: tables that these functions compute and registry/trained holds.

    python -m ironlaw.measure.adversarial.tables            computes and writes them: some minutes

`registry/adversarial_tables.py` reads them. A test computes a sample of the rows again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import product

import numpy as np

from ironlaw.files import replace_text
from ironlaw.measure.adversarial.attacks import attack, withstood
from ironlaw.measure.adversarial.readers import reader
from ironlaw.measure.compression.nets import images
from ironlaw.registry.adversarial_tables import ATTACKS, COLUMNS, DRAWN_STEPS, EPSILONS, FGSM, NETS, RESTARTS, SHOWN, STEPS
from ironlaw.registry.loader import folder


def settings() -> Iterator[tuple[str, str, int]]:
    for net, kind in product(NETS, ATTACKS):
        for steps in (1,) if kind == FGSM else STEPS:
            yield net, kind, steps


def hits(net: str, kind: str, steps: int, epsilon: float, restarts: int) -> tuple[int, ...]:
    """Right answers after each number of starts."""
    x, y = images()
    return withstood(reader(net), x, y, epsilon, kind, steps, 1 if kind == FGSM else restarts)


def rows() -> Iterator[tuple[str, ...]]:
    for (net, kind, steps), epsilon in product(settings(), EPSILONS):
        counts = hits(net, kind, steps, epsilon, max(RESTARTS))
        for restarts in (1,) if kind == FGSM else RESTARTS:
            yield net, kind, str(steps), str(restarts), f"{epsilon:g}", str(counts[restarts - 1])


def drawn() -> Iterator[str]:
    """A line for each picture: net, attack, ε, the image's number, what it is read as, and 64 shades of two hexadecimal digits."""
    x, y = images()
    chosen = np.array(SHOWN)
    for net, kind, epsilon in product(NETS, ATTACKS, EPSILONS):
        moved = attack(reader(net), x[chosen], y[chosen], epsilon, kind, 1 if kind == FGSM else DRAWN_STEPS)
        answers = reader(net).scores(moved).argmax(axis=1)
        for number, answer, pixels in zip(SHOWN, answers, moved, strict=True):
            shades = "".join(f"{round(255 * float(pixel)):02x}" for pixel in pixels)
            yield f"{net} {kind} {epsilon:g} {number} {answer} {shades}"


def main() -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows():
        writer.writerow(row)
    replace_text(folder("trained") / "digits_attacked.csv", text.getvalue())
    replace_text(folder("trained") / "digits_attacked.txt", "\n".join(drawn()) + "\n")


if __name__ == "__main__":
    main()
