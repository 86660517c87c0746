"""Published decoding speeds on GPUs that were not measured here, beside what is predicted for the same steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.step_times import StepTable
from ironlaw.registry.decoders import decoder, steps
from ironlaw.registry.engines import PLAIN, engine
from ironlaw.registry.machines import registered
from ironlaw.registry.publications import published
from ironlaw.systems.serving.deployments import PLAN
from ironlaw.systems.serving.serving_runs import SIZES

SLUGS = {"Llama-3.1-8B": "llama3_8b", "Llama-3.2-1B": "llama3_2_1b"}
SHAPES: dict[str, Any] = SIZES | {  # as the config.json of each says
    "Llama-2-7B": Decoder("llama2_7b", 32000, 32, 4096, 32, 32, 128, 11008),
    "Qwen3-1.7B": Decoder("qwen3_1_7b", 151936, 28, 2048, 16, 8, 128, 6144, tied=True, qk_norm=True),
    "Qwen3-4B": Decoder("qwen3_4b", 151936, 36, 2560, 32, 8, 128, 9728, tied=True, qk_norm=True),
}


def speed(row: Mapping[str, Any]) -> float:
    """Tokens per second that are predicted for a row, with the time that its engine adds to each step where that is known."""
    table = _table(str(row["model"]), str(row["machine"]))
    batch = int(row["batch"])
    own = engine("sglang") if str(row["software"]).startswith("SGLang") else PLAIN
    seconds = table.seconds(batch, float(batch * row["context"])) + own.step
    return batch / (seconds if row["head"] == "yes" else seconds - table.head.at(batch))


def speeds() -> dict[str, float]:
    """Run -> predicted over published."""
    return {str(row["run"]): speed(row) / float(row["speed"]) for row in published("decode_speeds").rows}


@lru_cache(maxsize=32)
def _table(model: str, machine: str) -> StepTable:
    return steps(SHAPES.get(model) or decoder(SLUGS[model]), registered(machine), PLAN, coarse=True)
