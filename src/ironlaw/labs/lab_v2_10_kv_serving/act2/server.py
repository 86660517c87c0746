"""Act II's setting: a server as the dials have it, and where it begins: at the story's, or at what the ledger has of Labs 08 and 13."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.systems.serving.served_cases import CHAT, ServedCase, most_devices

MODELS = ("llama3_70b", "llama3_8b")
GROUPS = (1, 2, 4, 8)
BUDGETS = (128, 256, 512, 1024, 2048, 4096, 8192)
MOST = (8, 16, 32, 64, 128, 256, 512)
TRACES = {CHAT: "chats", "azure_code_2023": "code completions"}
CHUNKED, WHOLE = "chunked", "whole"
PROMISE = Promise(ttft=2.0, tbt=0.05)
WINDOW = 40.0  # seconds that the pictures of time show
LAB_08, LAB_13 = "lab_08_ledger", "lab_13_line"
STORY_BUDGET = 512


def premise(chunked: bool = False) -> ServedCase:
    """The question's own server: whole prompts, or prompts in pieces."""
    return ServedCase(policy=Policy(chunked=True, budget=STORY_BUDGET) if chunked else Policy(chunked=False))


def groups(machine: Hardware) -> dict[int, str]:
    """Tensor-parallel groups that can't be had, and why."""
    most = most_devices(machine.slug)
    return {size: f"the registry has no box that joins {size} of these" for size in GROUPS if size > most}


def usual_group(machine: Hardware) -> int:
    return max(size for size in (1, 2, 4) if size not in groups(machine))


def starts(lab: kit.Lab) -> dict[str, Any]:
    """What earlier labs' designs give the dials: a model that is served here, the sequences at once, the replicas."""
    model = (lab.ledger.design(LAB_08) or {}).get("model")
    line = lab.ledger.design(LAB_13) or {}
    most, replicas = line.get("most"), line.get("replicas")
    found: dict[str, Any] = {"model": model} if model in MODELS else {}
    if isinstance(most, int) and most > 1:
        found["most"] = min(MOST, key=lambda each: abs(each - most))
    if isinstance(replicas, int) and 1 <= replicas <= 8:
        found["replicas"] = replicas
    return found


def case_of(machine: Hardware, values: Mapping[str, Any]) -> ServedCase:
    static = values["scheduling"] == "static"
    budget = int(values["budget"])
    chunked = values["prompts"] == CHUNKED and not static
    most = min(int(values["most"]), budget) if chunked else int(values["most"])
    policy = Policy(
        "static" if static else "continuous", most, budget, chunked, int(values["block"]), values["preemption"]
    )  # fmt: skip
    devices = int(values["devices"])
    return ServedCase(
        values["model"], machine.slug, devices if devices <= most_devices(machine.slug) else 1, round(values["replicas"]), values["trace"],
        float(values["rate"]), values["weights"], values["cache"], values["share"] / 100, policy,
    )  # fmt: skip
