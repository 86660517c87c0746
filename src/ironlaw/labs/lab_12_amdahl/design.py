"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit

PART = ("pass", "part", "part_share", "part_factor", "part_speedup", "ceiling")
JOB = ("serial_share", "sigma", "kappa", "workers", "speedup_predicted", "speedup_target", "weeks", "constraint_hit")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read. `sigma` is the serial share after the weeks, `serial_share` before them."""
    part, job = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    run, event = lab.local_run("workers"), lab.decision("act2")
    return {
        "context": lab.current_context.slug,
        **{name: part.get(name) for name in PART},
        **{name: job.get(name) for name in JOB},
        "here_serial_share": _serial_share(run) if run else None,
        "challenge_met": bool(event.payload["met"]) if event else None,
        **lab.outcomes("act1", "act2"),
    }


def _serial_share(run: kit.Measured) -> float:
    from ironlaw.labs.lab_12_amdahl.act2 import local_runs  # here: the act is not open yet when this file is imported

    return round(local_runs.share(run, "processes"), 4)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    part, job = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    ceiling = part.get("ceiling")
    first_row = ("Whole pass", f"{part['part_speedup']:.3g}×" + (f" of {ceiling:.3g}× at most" if ceiling else "") if part else "open", "")
    if not job:
        return [first_row, ("Speed-up", "open", ""), ("Design", "open", "")]
    from ironlaw.labs.lab_12_amdahl.act2.verdict import LIMITS  # here: the act is not open yet when this file is imported

    limit = next(limit for limit in LIMITS if limit.name == job["state"])
    speedup = f"{job['speedup_predicted']:.3g}× on {job['workers']:,}"
    return [first_row, ("Speed-up", speedup, ""), ("Design", limit.title.lower(), limit.tone)]
