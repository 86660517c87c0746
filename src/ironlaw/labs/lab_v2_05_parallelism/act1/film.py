"""Act I as it happens: the same schedule as the bubble's, in the seconds of the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_05_parallelism.act1.instrument import boxes
from ironlaw.labs.lab_v2_05_parallelism.act1.pipeline import setting_of
from ironlaw.pictures.moving.pipeline_film import pipeline_film
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    setting = setting_of(boxes(lab), values)
    time = setting.step.time
    seconds = float(time.bubble / setting.bubble if setting.bubble else time.total)  # of the step: what passes through the pipeline
    return [pipeline_film(setting.pipeline, setting.micro_batches, setting.virtual, seconds)]
