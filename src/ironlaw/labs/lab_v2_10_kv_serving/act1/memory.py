"""Act I's setting: a model in the memory of some devices, and the requests that fit beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.cache import CacheShape, Paging, blocks, contiguous, latent, paged
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.labs.lab_v2_10_kv_serving.cache_choices import BLOCKS, CACHES, WEIGHTS
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import STORY
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, figure, hundredths, whole
from ironlaw.systems.serving.deployments import arithmetic
from ironlaw.systems.serving.kv_capacity import cache_shape, kv_used
from ironlaw.systems.serving.served_cases import CHAT

MODELS = ("llama3_70b", "llama3_8b", "llama3_2_1b")
CONTEXTS, ASKED = tuple(2**n for n in range(9, 21)), 131_072  # tokens; and those of the question
FIXED, CHAT_LAW = "fixed", "chat"
LAWS = {FIXED: "as long as allowed", CHAT_LAW: "as in Azure's chats"}
LATENT = 512, 64  # numbers a layer keeps of a token: DeepSeek-V2's compressed vector and rotary key
MANY = 2048  # requests of the trace, taken again from the first when they are not enough


@dataclass(frozen=True)
class Setting:
    machine: Hardware
    model: str = among(MODELS, "llama3_70b", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    devices: int = whole(8, "Devices", most=8, dial="span")
    weights: str = among(WEIGHTS, "", "Weight format")
    cache: str = among(CACHES, "", "Cache format")
    context: int = whole(
        ASKED, "Tokens per request, at most", least=CONTEXTS[0], most=CONTEXTS[-1], dial="span", log=True, steps=list(CONTEXTS)
    )
    law: str = among(LAWS, FIXED, "Request length")
    block: int = among(BLOCKS, 16, "Cache allocation", dial="select")  # 0: each request has room for the longest at once
    share: float = figure(100, "Memory the engine may use", "%", low=50, high=100, dial="span", step=5, means=hundredths)

    @property
    def decoder(self) -> Decoder:
        return decoder(self.model)

    @property
    def total(self) -> float:
        return self.devices * float(self.machine.capacity)

    @cached_property
    def weight_bytes(self) -> float:
        return weight_bytes(self.decoder, arithmetic(self.machine), self.weights)

    @property
    def room(self) -> float:
        """For keys and values; below 0 where the weights do not fit."""
        return self.share * self.total - self.weight_bytes

    @property
    def dtype(self) -> str:
        return self.cache or arithmetic(self.machine)

    @property
    def shape(self) -> CacheShape:
        return cache_shape(self.model, self.dtype)

    @cached_property
    def kinds(self) -> dict[str, CacheShape]:
        """Ways to keep keys and values with this model's layers and heads."""
        one = self.decoder
        return {
            f"one pair per head ({one.heads})": cache_shape(self.model, self.dtype, one.heads),
            f"shared pairs ({one.kv_heads}, as built)": self.shape,
            "one pair for all": cache_shape(self.model, self.dtype, 1),
            "latent (DeepSeek-V2)": latent(one.layers, *LATENT, self.dtype),
        }

    def fit(self, shape: CacheShape, context: float) -> float:
        """Requests of so many tokens beside the weights, before the last is rounded off."""
        return max(0.0, self.room) / (shape.token_bytes * context)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of every request that is let in, in the order of arrival; the next would not fit."""
        pool = int(max(0.0, self.room) // self.shape.token_bytes)
        unit = self.block or self.context
        if self.law == FIXED:
            return (self.context,) * (pool // (blocks(self.context, unit) * unit))
        taken: list[int] = []
        free, i = pool // unit, 0
        requests = trace(CHAT).lengths(MANY)
        while True:
            tokens = min(self.context, sum(requests[i % MANY]))
            free -= blocks(tokens, unit)
            if free < 0:
                return tuple(taken)
            taken.append(tokens)
            i += 1

    @property
    def slots(self) -> int:
        return len(self.lengths)

    @property
    def each(self) -> float:
        """Tokens for which a request has room, on average."""
        if self.law == FIXED or not self.lengths:
            return float(self.context)
        return sum(map(self.held, self.lengths)) / self.slots / self.shape.token_bytes

    @property
    def used(self) -> float:
        """The share of the cache that requests have to themselves that holds tokens; for chats in general, not those admitted."""
        return self.paging.share_used if self.law == FIXED else kv_used(self.context, self.block)

    @property
    def paging(self) -> Paging:
        return paged(self.lengths, self.block) if self.block else contiguous(self.lengths, self.context)

    def held(self, tokens: int) -> float:
        """Bytes that a request of so many tokens has to itself."""
        return (blocks(tokens, self.block) * self.block if self.block else self.context) * self.shape.token_bytes


def premise() -> Setting:
    """The question's own: all the memory of eight H100, contexts as long as allowed."""
    return Setting(registered(STORY))
