"""Act II's setting: a server as the dials have it, and what Labs 08 and 13 offer it."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw import kit
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.labs.lab_v2_10_kv_serving.cache_choices import BLOCKS, CACHES, WEIGHTS
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, figure, hundredths, whole
from ironlaw.systems.serving.served_cases import CHAT, LONG, REQUESTS, ServedCase, most_devices

MODELS = ("llama3_70b", "llama3_8b")
GROUPS = (1, 2, 4, 8)
BUDGETS = (128, 256, 512, 1024, 2048, 4096, 8192)
MOST = (8, 16, 32, 64, 128, 256, 512)
TRACES = {CHAT: "chats", "azure_code_2023": "code completions"}
CHUNKED, WHOLE = "chunked", "whole"
PROMPTS = {WHOLE: "whole, decoding waits", CHUNKED: "in chunks, beside decoding"}
RATES = (0.1, 0.2, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10, 20)
PROMISE = Promise(ttft=2.0, tbt=0.05)
WINDOW = 40.0  # seconds that the pictures of time show
LAB_08, LAB_13 = "lab_08_ledger", "lab_13_line"
STORY_BUDGET = 512


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act II stand."""

    machine: Hardware
    rate: float = figure(
        1, "Traffic, relative to the trace", "×", low=RATES[0], high=RATES[-1], dial="span", log=True, steps=list(RATES),
        shows="over-time",
    )  # fmt: skip
    trace: str = among(TRACES, CHAT, "Kind of requests", dial="select")
    prompts: str = among(PROMPTS, WHOLE, "Prompts are computed")
    budget: int = among(BUDGETS, 2048, "Tokens per step, at most", dial="select", shown="{:,}")
    scheduling: str = among({"continuous": "the running batch", "static": "only a new batch"}, "continuous", "Requests join")
    most: int = among(MOST, 256, "Sequences per batch, at most", dial="select")
    model: str = among(MODELS, MODELS[0], "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    devices: int = among(GROUPS, 4, "Devices per replica")
    replicas: int = whole(1, "Replicas", most=8, dial="span")
    weights: str = among(WEIGHTS, "", "Weight format")
    cache: str = among(CACHES, "", "Cache format")
    block: int = among({size: words for size, words in BLOCKS.items() if size}, 16, "Cache allocation", dial="select", shows="times")
    preemption: str = among({"recompute": "recompute their prompts", "swap": "move to the host"}, "recompute", "Evicted requests")
    share: float = figure(90, "Memory the engine may use", "%", low=50, high=95, dial="span", step=5, means=hundredths, shows="times")
    moving: bool = False  # while a dial is turned few requests have to do

    @property
    def policy(self) -> Policy:
        chunked = self.prompts == CHUNKED and self.scheduling != "static"
        most = min(self.most, self.budget) if chunked else self.most
        return Policy(self.scheduling, most, self.budget, chunked, self.block, self.preemption)

    @property
    def case(self) -> ServedCase:
        devices = self.devices if self.devices <= most_devices(self.machine.slug) else 1
        return ServedCase(
            self.model, self.machine.slug, devices, self.replicas, trace=self.trace, rate=self.rate, weights=self.weights,
            cache=self.cache, memory=self.share, policy=self.policy, count=REQUESTS if self.moving else LONG,
        )  # fmt: skip


def premise(chunked: bool = False) -> ServedCase:
    """The question's own server: whole prompts, or chunked prefill."""
    return ServedCase(policy=Policy(chunked=True, budget=STORY_BUDGET) if chunked else Policy(chunked=False), count=LONG)


def groups(machine: Hardware) -> dict[int, str]:
    """Tensor-parallel groups that no server offers, and why."""
    most = most_devices(machine.slug)
    return {size: f"no server in the registry joins {size} of these" for size in GROUPS if size > most}


def usual_group(machine: Hardware) -> int:
    return max(size for size in (1, 2, 4) if size not in groups(machine))


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """What earlier designs could give the dials: a model, the sequences at once, the replicas."""
    model, line = (lab.ledger.design(LAB_08) or {}).get("model"), lab.ledger.design(LAB_13) or {}
    counts = {name: line[name] for name in ("most", "replicas") if isinstance(line.get(name), int) and line[name] >= 1}
    named = f"model ({about(model)['name']})" if model in MODELS else ""
    return [
        *([kit.Offer(LAB_08, named, {"model": model})] if named else []),
        *([kit.Offer(LAB_13, "server", counts)] if counts else []),
    ]
