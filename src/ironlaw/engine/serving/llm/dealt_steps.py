"""A step whose sequences are dealt to parts that run beside each other: the stages of a pipeline, or groups that share only experts.

Each part decodes its share of the sequences. A prompt's piece goes to one of them, and the others wait for it, so a step takes as long as
the part with the most prompt tokens. As many pieces as there are parts fit one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.serving.llm.step_times import Chunks, StepTable


@dataclass(frozen=True, slots=True)
class DealtSteps:
    """`table`: a step of one part; `each`: seconds that handing a batch on adds to a step, and to each of its tokens."""

    table: StepTable
    ways: int
    hand: float = 0.0
    hand_token: float = 0.0

    def seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0, each: int = 1) -> float:
        rows = -(-batch // self.ways)
        mine = self.pieces(chunks)
        tokens = rows * each + sum(count for count, _ in mine)
        inside = contexts * rows / batch if batch else 0.0
        return self.table.seconds(rows, inside, mine, min(ends, len(mine)), each) + self.hand + self.hand_token * tokens

    def pieces(self, chunks: Chunks) -> list[tuple[int, int]]:
        """What the busiest part has of them: the largest piece, or an even share of all where that is more."""
        if not chunks:
            return []
        total = sum(count for count, _ in chunks)
        longest = max(chunks)
        even = -(-total // self.ways)
        return [longest] if longest[0] >= even else [longest, (even - longest[0], 0)]
