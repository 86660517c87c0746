"""`evaluate(design) -> Report`: every readout of a system, and the waterfall of its training from the peak to tokens that last."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

from ironlaw.engine import energy
from ironlaw.engine.cluster.search import Candidate
from ironlaw.engine.serving.llm.run_spread import Between
from ironlaw.systems.training.layout_steps import training_job
from ironlaw.systems.whole import whole_serving, whole_training
from ironlaw.systems.whole.design import ASYNC, BATCH, BOX, MODEL, SEQ, TOKENS, Design, Faster, halls
from ironlaw.systems.whole.whole_training import Factor

DAY = 86400.0
TTFT, TBT = 2.0, 0.05  # seconds promised: to the first token, and between tokens


@dataclass(frozen=True)
class Report:
    """`values`: readouts by name, in SI; a time that never comes is infinite. `refusal`: why the layout is none, in words."""

    design: Design
    values: dict[str, float]
    factors: tuple[Factor, ...]
    peak: float  # tokens per second
    step: Candidate | None = field(repr=False)
    saves: whole_training.Saves
    refusal: str = ""
    between: dict[str, Between] = field(default_factory=dict)  # of readouts that are simulated, as far as the run can tell

    @property
    def useful(self) -> float:
        """Tokens per second that were trained on, and lasted."""
        return self.values["useful"]


def evaluate(design: Design, faster: Faster | None = None) -> Report:
    return _evaluate(design, faster or Faster())


@lru_cache(maxsize=2048)
def _evaluate(design: Design, faster: Faster) -> Report:
    one, saves, served = whole_training.stepped(design, faster), whole_training.saved(design, faster), whole_serving.served(design)
    first, following = 1.0 - served.late(TTFT), served.within(TBT)
    goodput = float(saves.shares.goodput)
    tokens = one.speed.tokens_per_s if one else 0.0
    days = TOKENS / (tokens * goodput) / DAY if tokens * goodput > 0 else math.inf
    serving_hours = design.serving * energy.YEAR
    hours = design.gpus * days * 24.0 + serving_hours
    hall = halls()[design.hall]
    joules = energy.of_run(hours, whole_serving.power(), hall.pue) if math.isfinite(hours) else math.inf
    room = training_job(MODEL, BOX, BATCH, SEQ).capacity
    values = {
        "memory": max(float(one.memory.total) / room if one else math.inf, whole_serving.held(design)),
        "days": days,
        "goodput": goodput,
        "drain": saves.drain / design.far_every if design.saving == ASYNC else 0.0,
        "ports": whole_training.tree(design).ports / design.gpus,
        "ttft": served.ttft,
        "tbt": served.tbt,
        "availability": whole_serving.answered(design, faster),
        "hours": hours,
        "energy": joules,
        "carbon": energy.carbon(joules, hall.grams_per_kwh) if math.isfinite(joules) else math.inf,
        "epsilon": whole_serving.spent(design.noise),
        "mfu": one.speed.mfu if one else 0.0,
        "tokens_per_s": tokens,
        "useful": tokens * goodput,
        "first": first,
        "following": following,
        "between": saves.between,
        "serving_hours": serving_hours,
    }
    parts = whole_training.factors(design, one, faster) if one else ()
    return Report(
        design,
        values,
        (*parts, Factor("failures and saves", goodput)),
        whole_training.peak_tokens(design, faster),
        one,
        saves,
        "" if one else whole_training.refusal(design),
        {"ttft": served.ttft_between, "tbt": served.tbt_between},
    )
