"""Act I beside the learner's own machine: real processes that add up their buffers over loopback, free and paced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act1.setting import Setting
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import HERE, own_fit
from ironlaw.measure.experiments import collectives_trial


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"collectives": lambda run: kit.caption(lab, "act1.here_collectives", slots(lab, run), shows(small(run), paced(run)))}


def shows(short: Mapping[str, float], long: Mapping[str, float]) -> bool:
    """Whether the tree wins with a short message and the ring with a long one."""
    return short["binomial"] < short["ring"] and long["ring"] < long["binomial"]


def paced(run: kit.Measured) -> dict[str, float]:
    """Algorithm -> seconds of the longest message over most ranks, each held to a pace."""
    sizes = collectives_trial.SIZES[collectives_trial.PACED]
    large = max(size for each in sizes.values() for size in each)
    ways = collectives_trial.ALGORITHMS
    return {name: seconds(run, name=collectives_trial.PACED, algorithm=name, ranks=max(sizes), bytes=large) for name in ways}


def seconds(run: kit.Measured, **case: Any) -> float:
    row = run.row(kind="case", **case)
    assert row is not None, f"a run without {case} is passed over"
    return float(row["wall_s"])


def small(run: kit.Measured) -> dict[str, float]:
    """Algorithm -> seconds of the smallest message over most ranks, free."""
    return {case["algorithm"]: seconds(run, name=collectives_trial.FREE, **case) for case in collectives_trial.smallest()}


def step_words(alpha: float) -> kit.Markup:
    """A fit may put no seconds on a step: then none could be told from noise."""
    return kit.Markup(f"{kit.amount(alpha, 's')} per step" if alpha > 0 else "steps too short to tell from noise")


def slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    by = small(run)
    case = collectives_trial.smallest()[0]
    large = max(size for sizes in collectives_trial.SIZES[collectives_trial.PACED].values() for size in sizes)
    most = max(collectives_trial.SIZES[collectives_trial.PACED])
    fitted = own_fit(lab)
    wire, seen, foretold = fitted[1:] if fitted else collectives_trial.compare([dict(row) for row in run.rows])
    return {
        "ranks": most, "small": kit.amount(float(case["bytes"]), "B"), "ring_small": kit.amount(by["ring"], "s"),
        "tree_small": kit.amount(by["binomial"], "s"), "ratio": kit.times(by["ring"] / by["binomial"], 2),
        "large": kit.amount(float(large), "B"), "pace": kit.amount(collectives_trial.RATE, "B/s"),
        **{f"{name}_large": kit.amount(value, "s") for name, value in paced(run).items()},
        "alpha": step_words(wire.alpha), "beta": kit.amount(wire.beta, "B/s"), "seen": kit.amount(100 * seen, "%", 2),
        "foretold": kit.amount(100 * foretold, "%", 2),
    }  # fmt: skip


def dots(lab: kit.Lab, setting: Setting) -> dict[str, list[tuple[float, float]]]:
    """The learner's own paced rows of the two algorithms over as many ranks, in the context of this machine."""
    run = lab.local_run("collectives") if lab.current_context.slug == HERE else None
    if run is None:
        return {}
    found = {}
    for name in dict.fromkeys((setting.first, setting.second)):
        rows = sorted(
            (float(row["params"]["bytes"]), float(row["wall_s"]))
            for row in run.all(kind="case", name=collectives_trial.PACED, algorithm=name, ranks=setting.wires.ranks)
        )
        if rows:
            found[f"here: {collectives_trial.ALGORITHMS[name]}"] = rows
    return found


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("collectives")
    if run is None:
        return {}
    by = small(run)
    case = collectives_trial.smallest()[0]
    best = min(by.values())
    return {
        "ring_is_always_best": kit.LocalFigure(by["ring"] / best, "×", f"{case['bytes']:,} B over {case['ranks']} processes; {run.source}")
    }
