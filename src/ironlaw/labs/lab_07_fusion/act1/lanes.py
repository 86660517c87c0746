"""Act I as it happens: the host's launches and the device's kernels, eager, compiled and replayed, as the dials stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act1.instrument import MODES, Setting, job_of
from ironlaw.labs.lab_07_fusion.jobs import Job
from ironlaw.pictures.moving.launches import Way, launches
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    setting = settings.read(Setting, values)
    job = job_of(lab, values, setting.model)
    return [launches([way(job, mode, setting.dispatch, mode == setting.mode) for mode in MODES])]


def way(job: Job, mode: str, dispatch: str, chosen: bool = False) -> Way:
    launched = job.launched(mode)
    return Way(MODES[mode], job.course(launched, mode, dispatch), terms(job, mode), chosen)


def terms(job: Job, mode: str) -> list[str]:
    """A textbook's kernels are all alike."""
    if jobs.is_graph(job.model):
        return [str(row.term) for row in jobs.prediction(job.model, jobs.Machine(job.context), mode).ops]
    launched = job.launched(mode)
    return ["compute" if launched.compute >= launched.memory else "memory"]
