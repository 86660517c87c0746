"""What Act II will ask for first, simulated in the background while the learner looks at Act I."""

from __future__ import annotations

from dataclasses import replace

from ironlaw.kit import background


def warm() -> None:
    background.begin(__name__, fill)


def fill() -> None:
    from ironlaw.engine.serving.llm.policy import Policy  # here: Act I does not need them
    from ironlaw.labs.lab_v2_10_kv_serving.act2.server import premise

    for case in (premise(), premise(True), replace(premise(True), policy=Policy(budget=256))):
        _ = case.outcome
