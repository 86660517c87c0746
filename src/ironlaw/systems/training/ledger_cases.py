"""A model of the registry, the length of its sequences, and how it is trained: what a step then keeps in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.engine.training import setup as setups
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.recipes import RECIPES
from ironlaw.engine.training.setup import Setup
from ironlaw.engine.training.training_ledger import Ledger
from ironlaw.registry.workloads import about, workload


@lru_cache(maxsize=32)
def graph_of(model: str, seq: int, batch: int, dtype: str) -> Graph:
    return workload(model, batch=batch, dtype=dtype, **({"seq": seq} if seq else {}))


@lru_cache(maxsize=64)
def _growth(model: str, seq: int, setup: Setup) -> Growth:
    return setups.growth(lambda batch, dtype: graph_of(model, seq, batch, dtype), setup)


@dataclass(frozen=True, slots=True)
class LedgerCase:
    """A model, the length of its sequences (0: none), and how it is trained."""

    model: str
    seq: int
    setup: Setup

    @property
    def graph(self) -> Graph:
        return graph_of(self.model, self.seq, 1, RECIPES[self.setup.recipe].dtype)

    @property
    def growth(self) -> Growth:
        """The memory at any microbatch; only whether several make an update matters, not how many."""
        return _growth(self.model, self.seq, replace(self.setup, batch=1, accumulate=min(self.setup.accumulate, 2)))

    @property
    def ledger(self) -> Ledger:
        return _ledger(self)

    @property
    def peak(self) -> float:
        return self.growth.peak(self.setup.batch)

    @property
    def update(self) -> float:
        """Bytes while the optimiser steps."""
        return setups.update_bytes(lambda batch, dtype: graph_of(self.model, self.seq, batch, dtype), self.setup)

    @property
    def name(self) -> str:
        return str(about(self.model)["name"])

    @property
    def sizes(self) -> str:
        batch = f"batch {self.setup.batch:,}"
        return f"{batch} × {self.seq:,} tokens" if self.seq else batch

    def with_(self, **changes: Any) -> LedgerCase:
        return replace(self, setup=replace(self.setup, **changes))

    def largest(self, capacity: float) -> int:
        return self.growth.largest(capacity)


@lru_cache(maxsize=24)
def _ledger(case: LedgerCase) -> Ledger:
    return case.growth.at(case.setup.batch)
