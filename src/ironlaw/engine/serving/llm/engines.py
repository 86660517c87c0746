"""A serving engine beside the device: its own time, and the defaults of its scheduler."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.serving.llm.front import Front

LARGE = 70e9  # bytes of memory


@dataclass(frozen=True, slots=True)
class Engine:
    """Seconds that it adds to each step, that its front is busy with each request, that a first token takes beside both, and to start."""

    slug: str
    name: str
    step: float = 0.0
    request: float = 0.0
    first: float = 0.0
    start: float = 0.0
    spread: float = 0.0  # of these four in single runs, over them
    budget: int = 8192  # tokens per step on GPUs with at least LARGE bytes
    small_budget: int = 2048  # and on others
    sequences: int = 256
    memory: float = 0.9
    whole_prompts: bool = False  # a step takes prompts or decodes
    kept: float = 0.0  # `Policy.kept`
    sources: tuple[str, ...] = ()
    starts: str = ""  # the engine whose command starts it
    ungrouped: tuple[str, ...] = ()  # beginnings of GPUs' slugs on which `reads_per_head` holds
    free_memory: bool = False  # `memory` is of what weights and activations leave, and not of the whole device
    small_sequences: int = 0  # where the budget is the small one, if they are fewer

    def usual_budget(self, slug: str, memory: float) -> int:
        """Tokens per step where nothing is said: vLLM takes the larger number on GPUs of 70 GB and more, but not on an A100."""
        return self.budget if _large(slug, memory) else self.small_budget

    def usual_sequences(self, slug: str, memory: float) -> int:
        """Sequences of a step where nothing is said."""
        return self.sequences if _large(slug, memory) else self.small_sequences or self.sequences

    def reads_per_head(self, slug: str) -> bool:
        """Whether each query head reads the cache for itself beside a prompt's chunk: FlashAttention-2, called once for both."""
        return slug.startswith(self.ungrouped) if self.ungrouped else False

    @property
    def front(self) -> Front | None:
        return Front(self.request, self.first) if self.request or self.first else None

    def times(self, factor: float) -> Engine:
        """The engine with `factor` times its own time."""
        return replace(self, step=factor * self.step, request=factor * self.request, first=factor * self.first)


def _large(slug: str, memory: float) -> bool:
    return memory >= LARGE and not slug.startswith("a100")
