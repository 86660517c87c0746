"""Act I beside the learner's own machine: a classifier trained there, without noise and with it."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit

NAME = "dp_sgd"


def by_records(run: kit.Measured) -> dict[int, list[tuple[float, float]]]:
    """Records -> (noise multiplier, accuracy in %), least noise first."""
    found: dict[int, list[tuple[float, float]]] = {}
    for row in run.all(kind="figure", name="accuracy"):
        params = row["params"]
        found.setdefault(int(params["records"]), []).append((float(params["noise"]), float(row["value"])))
    return {records: sorted(points) for records, points in sorted(found.items())}


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {NAME: lambda run: kit.caption(lab, "act1.here_dp_sgd", slots(run), shows(*losses(run)))}


def shows(few: float, many: float) -> bool:
    """Whether the noise cost more where there were fewer records."""
    return few > many


def losses(run: kit.Measured) -> tuple[float, float]:
    """Points of accuracy that the loudest noise cost, on the fewest records and on the most."""
    few, many = (by_records(run)[count] for count in _ends(run))
    loudest = max(noise for noise, _ in few)
    return few[0][1] - dict(few)[loudest], many[0][1] - dict(many)[loudest]


def slots(run: kit.Measured) -> dict[str, object]:
    loudest = max(noise for noise, _ in by_records(run)[_ends(run)[0]])
    return {
        "few": f"{_ends(run)[0]:,}", "many": f"{_ends(run)[1]:,}", "noise": kit.amount(loudest),
        "few_lost": kit.amount(losses(run)[0], "points", 2), "many_lost": kit.amount(losses(run)[1], "points", 2),
        "few_epsilon": kit.amount(_epsilon(run, _ends(run)[0], loudest)), "many_epsilon": kit.amount(_epsilon(run, _ends(run)[1], loudest)),
    }  # fmt: skip


def _ends(run: kit.Measured) -> tuple[int, int]:
    counts = list(by_records(run))
    return counts[0], counts[-1]


def _epsilon(run: kit.Measured, records: int, noise: float) -> float:
    row = run.row(records=records, noise=noise)
    assert row is not None
    return float(row["params"]["epsilon"])


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run(NAME)
    if run is None:
        return {}
    many = by_records(run)[_ends(run)[1]]
    return {
        "private_training_ruins_accuracy": kit.LocalFigure(
            many[0][1] - many[-1][1], "points", f"{_ends(run)[1]:,} made-up records, noise {many[-1][0]:g}; {run.source}"
        )
    }
