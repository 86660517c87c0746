"""Could it be chance? The COMPAS table drawn anew two thousand times, person by person, and every rate and gap counted in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import RATES, fpr_of
from ironlaw.measure.clock import halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, figure_row
from ironlaw.registry.scored_groups import COMPAS, groups

DRAWS = 2000
CUT = 5.0  # the published one: deciles from here on count as high risk
SEED = 15
NAMES = {"fpr": "false positive rate", "fnr": "false negative rate", "ppv": "precision"}


def rows(bench: Bench) -> Iterator[Draft]:
    """For each rate: its gap, in both groups, in percent, and one group's over the other's; with the middle 95% of the draws."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    drawn: dict[str, Any] = {}
    data = groups(COMPAS)
    for group in bench.each([(f"drawing {group.name}", group) for group in data]):
        halt(bench.stop)
        drawn[group.name] = rates(draw, group, DRAWS)
    one, other = (group.name for group in data)
    for rate in RATES:
        shares = [float(getattr(group.at(CUT), rate)) for group in data]
        yield _row(f"{rate}_gap", f"{NAMES[rate]}, {one} less {other}", drawn[one][rate] - drawn[other][rate], shares[0] - shares[1])
        for group, value in zip(data, shares, strict=True):
            yield _row(f"{rate}_{group.name}", f"{NAMES[rate]}, {group.name}", drawn[group.name][rate], value)
        ratio = shares[0] / shares[1]
        yield _row(f"{rate}_ratio", f"{NAMES[rate]}, {one} over {other}", drawn[one][rate] / drawn[other][rate], ratio, "×")


def rates(draw: Any, group: Group, draws: int) -> dict[str, Any]:
    """The three rates in every draw of as many people as there were; the identity between them holds in each."""
    table = group.at(CUT)
    shares = [count / table.people for count in (table.tp, table.fp, table.fn, table.tn)]
    tp, fp, fn, tn = draw.multinomial(int(table.people), shares, draws).T.astype(float)
    by_name = {"fpr": fp / (fp + tn), "fnr": fn / (tp + fn), "ppv": tp / (tp + fp)}
    base = (tp + fn) / table.people
    worst = max(
        abs(fpr_of(float(b), float(p), float(f)) - float(x))
        for b, p, f, x in zip(base, by_name["ppv"], by_name["fnr"], by_name["fpr"], strict=True)
    )
    assert worst < 1e-9
    return by_name


def _row(name: str, label: str, values: Any, value: float, unit: str = "%") -> Draft:
    import numpy as np

    scale = 100 if unit == "%" else 1
    low, high = (float(scale * np.quantile(values, share)) for share in (0.025, 0.975))
    return figure_row(name, label, scale * value, low, high, unit, len(values))
