"""How many GPUs a language model needs to serve some traffic within an SLO, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ironlaw.systems.question import Table
from ironlaw.systems.serving.search.demand import Demand
from ironlaw.systems.serving.search.search import Progress, search
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import CapacityChoice, CapacityJson


@dataclass(frozen=True, repr=False)
class Capacity(Demand):
    """The fewest devices of each machine that meet the SLO, the cheapest of them, and the bottleneck.

    >>> import ironlaw as il
    >>> c = il.capacity("llama3_2_1b", on="h200", rate=5, requests=200, tbt="50 ms")
    >>> c.devices, c.fewest
    (1, 'h200_sxm')
    """

    schema = "ironlaw-serve/1"

    @cached_property
    def answer(self) -> CapacityJson:
        return self.answered(None)

    def answered(self, progress: Progress | None) -> CapacityJson:
        """The answer, and `progress` hears how far the search is."""
        if "answer" not in self.__dict__:
            self.prices  # noqa: B018  a price of a machine that is not asked about is refused before the search begins
            self.__dict__["answer"] = search(self, progress)
        found: CapacityJson = self.__dict__["answer"]
        return found

    @property
    def choices(self) -> list[CapacityChoice]:
        """The best deployment on each machine that can meet the SLO."""
        return list(self.answer["choices"])

    @property
    def fewest(self) -> str | None:
        """The machine of which the fewest devices are enough."""
        slug: str | None = self.answer["fewest"]
        return slug

    @property
    def cheapest(self) -> str | None:
        slug: str | None = self.answer["cheapest"]
        return slug

    @property
    def devices(self) -> int | None:
        """The fewest devices of all machines; None if none meets the SLO."""
        return min((one["devices"] for one in self.choices), default=None)

    def table(self) -> Table:
        rows = [
            (
                one["hardware"], f"{one['devices']}", one["weights"], show(one["ttft_s"]["promised"], "s"),
                show(one["tbt_s"]["promised"], "s"), f"{one['tokens_per_s']:,.0f}", one["binds"] or "–",
            )
            for one in self.choices
        ]  # fmt: skip
        names = ("machine", "devices", "weights", "first token", "between tokens", "tokens/s", "bottleneck")
        return Table(f"{self.answer['model']}: fewest devices {self.fewest}, cheapest {self.cheapest}", names, rows)
