"""Published serving runs, simulated again: what clients saw, and what is predicted for the same requests.

Prompts and answers come as the run's; where only their means are published, as log-normal lengths of that mean. Limits of a step are
vLLM's defaults on an H100. What an engine adds to each step and each request is not part of a prediction unless it is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from typing import Any

from ironlaw.engine.serving.llm.closed import waits
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request, Spread
from ironlaw.engine.streams import split
from ironlaw.errors import BadValue
from ironlaw.registry.decoders import decoder
from ironlaw.registry.engines import engine
from ironlaw.registry.machines import registered
from ironlaw.registry.publications import published
from ironlaw.systems.serving.deployments import Deployment, deployment

BUDGET, MOST = 8192, 1024  # vLLM's max_num_batched_tokens and max_num_seqs of a server on an H100
SHORT, LONG, ROUNDS = 4, 1024, 12  # of what the benchmark keeps of ShareGPT, and how often its means are corrected
ORDERS, ENOUGH = 3, 1500  # of the lengths, where only their mean is known: at least so many orders, and so many requests in all
SIZES: dict[str, Any] = {  # as the config.json of each says
    "Qwen3-8B": Decoder("qwen3_8b", 151936, 36, 4096, 32, 8, 128, 12288),
    "Qwen3-14B": Decoder("qwen3_14b", 151936, 40, 5120, 40, 8, 128, 17408),
    "Qwen3-32B": Decoder("qwen3_32b", 151936, 64, 5120, 64, 8, 128, 25600),
    "Mixtral-8x7B": Decoder("mixtral_8x7b", 32000, 32, 4096, 32, 8, 128, 14336, experts=8, top_k=2),
}
SLUGS = {"Llama-3.1-8B": "llama3_8b", "Llama-3-70B": "llama3_70b"}
ENGINES = {"vLLM": "vllm", "SGLang": "sglang", "TensorRT-LLM": "trtllm"}
LIKE_A_CARD, CARD = ("Qwen3-14B", "Qwen3-32B"), "h100_pcie"  # what these models' H100 reads and computes like (docs/serving.md)
FULL, ROUNDS_OF = 0.95, 3  # of the memory, as that page's runs took it; times the batch, requests that are simulated of it
BLOCK = 128  # numbers of a row that share a scale in Qwen's FP8 checkpoints
MEASURES = ("ttft", "tpot", "whole", "rate")


@dataclass(frozen=True)
class Replay:
    """Seconds, and tokens per second; a measure that the run does not have is nan in `measured`."""

    run: str
    basis: str
    measured: Mapping[str, float]
    predicted: Mapping[str, float]

    def error(self, measure: str) -> float | None:
        """Predicted over measured, less 1; None where nothing was published."""
        value = self.measured[measure]
        return None if math.isnan(value) else self.predicted[measure] / value - 1.0


def replays(overhead: float = 0.0, begin: str = "") -> list[Replay]:
    """Replays of the runs whose names begin with this; `overhead`: seconds that an engine adds to each step."""
    return [_replay(row, overhead) for row in published("serving_runs").rows if str(row["run"]).startswith(begin)]


def floods(sealed: bool) -> list[Replay]:
    """Runs of `serving_floods` with their engine's own time and defaults: the open or the sealed ones."""
    return [engine_replay(row) for row in published("serving_floods").rows if (row["sealed"] == "yes") == sealed]


def engine_replay(row: Mapping[str, Any]) -> Replay:
    """One run with its engine's own time, its scheduler's defaults and its share of the memory, on the card that its machine is like."""
    own = engine(ENGINES[str(row["engine"]).split(" ")[0]])
    at = registered(str(row["machine"]) if row["model"] not in LIKE_A_CARD or row["machine"] != "h100_sxm" else CARD)
    budget = own.usual_budget(at.slug, float(at.capacity))
    fast = row.get("weights") == "fp8" and "fp8" in at.peaks
    shape = SIZES[str(row["model"])]
    made = deployment(
        replace(shape, scaled=BLOCK) if fast else shape, at, int(row["devices"]), budget=budget, memory=own.memory, overhead=own.step,
        coarse=True, products="fp8" if fast else "", ungrouped=own.reads_per_head(at.slug), of_free=own.free_memory,
    )  # fmt: skip
    clients = int(row["clients"])
    made = replace(made, front=None if clients else own.front)  # who waits for an answer is one of few: the front is added below
    most = clients or min(own.usual_sequences(at.slug, float(at.capacity)), budget)
    policy = Policy(most=most, budget=budget, chunked=not own.whole_prompts, kept=own.kept)
    figures = _figures(made.run(_requests(row, 0), policy), clients)
    predicted = figures | ({"ttft": figures["ttft"] + own.first + own.request} if clients else {})
    return Replay(str(row["run"]), made.basis, {name: float(row.get(name, math.nan)) for name in MEASURES}, predicted)


def offline() -> list[Replay]:
    """TensorRT-LLM's runs in FP8, cache and all, that ask for everything at once."""
    return [_offline(row) for row in published("serving_offline").rows]


def _offline(row: Mapping[str, Any]) -> Replay:
    """What is measured is the whole run, so few requests more than fill the batch are enough."""
    own, at = engine("trtllm"), registered(str(row["machine"]))
    budget, prompt, output = own.usual_budget(at.slug, float(at.capacity)), int(row["prompt"]), int(row["output"])
    server = deployment(
        decoder(SLUGS[str(row["model"])]), at, int(row["devices"]), budget=budget, memory=FULL, overhead=own.step, coarse=True,
        products="fp8", cache="fp8",
    )  # fmt: skip
    together = min(own.sequences, server.slots(prompt + output))
    count = min(int(row["requests"]), max(ROUNDS_OF * together, ENOUGH))
    out = server.run([Request(0.0, prompt, output)] * count, Policy(most=own.sequences, budget=budget, kept=own.kept))
    return Replay(str(row["run"]), server.basis, {"rate": float(row["rate"])}, {"rate": count * output / max(out.leave)})


@lru_cache(maxsize=64)
def replayed(run: str, measure: str, overhead: float = 0.0) -> float:
    """Predicted over measured, of one run, with fewer points in the table of steps: `replayed("8b-4", "tpot", 1.5e-3)`."""
    row = next((row for row in published("serving_runs").rows if row["run"] == run), None)
    if row is None or measure not in MEASURES:
        known = ", ".join(str(row["run"]) for row in published("serving_runs").rows)
        raise BadValue(f"no {measure!r} of a run {run!r}; known runs: {known}; known measures: {', '.join(MEASURES)}")
    error = _replay(row, overhead, coarse=True).error(measure)
    if error is None:
        raise BadValue(f"{run} has no {measure} that was published; take another measure", "measure")
    return 1.0 + error


def _replay(row: Mapping[str, Any], overhead: float, coarse: bool = False) -> Replay:
    server = _deployment(str(row["model"]), str(row["machine"]), int(row["devices"]), coarse)
    server = replace(server, table=replace(server.part, start=server.part.start + overhead))
    clients = int(row["clients"])
    draws = [_figures(server.run(_requests(row, seed), Policy(most=clients or MOST, budget=BUDGET)), clients) for seed in _seeds(row)]
    predicted = {name: fmean(draw[name] for draw in draws) for name in MEASURES}
    return Replay(str(row["run"]), server.basis, {name: float(row[name]) for name in MEASURES}, predicted)


@lru_cache(maxsize=16)
def _deployment(model: str, machine: str, devices: int, coarse: bool) -> Deployment:
    shape = SIZES.get(model) or decoder(SLUGS[model])
    return deployment(shape, registered(machine), devices, budget=BUDGET, coarse=coarse)


def _seeds(row: Mapping[str, Any]) -> range:
    return range(1 if row["even"] == "yes" else max(ORDERS, round(ENOUGH / row["requests"])))


def _requests(row: Mapping[str, Any], seed: int) -> list[Request]:
    """All there at once: a client that waits for its answer is a place in the batch."""
    spread, count = 0.0 if row["even"] == "yes" else 1.0, int(row["requests"])
    prompts = Spread(float(row["prompt"]), spread).dealt(split(seed, 1), count)
    outputs = Spread(float(row["output"]), spread).dealt(split(seed, 2), count)
    if "-share" not in str(row["run"]):
        return [Request(0.0, prompt, output) for prompt, output in zip(prompts, outputs, strict=True)]
    return _kept(prompts, outputs, float(row["prompt"]), float(row["output"]))


def _kept(prompts: Sequence[int], outputs: Sequence[int], prompt: float, output: float) -> list[Request]:
    """As vLLM's benchmark takes conversations from ShareGPT: it drops those that are short or long (`is_valid_sequence` of its data sets),
    and what it keeps has the means that were published. As many as were drawn: the first ones come twice."""
    ahead = after = 1.0
    kept: list[Request] = []
    for _ in range(ROUNDS):
        drawn = (Request(0.0, round(ahead * p), round(after * o)) for p, o in zip(prompts, outputs, strict=True))
        kept = [r for r in drawn if min(r.prompt, r.output) >= SHORT and r.prompt <= LONG and r.prompt + r.output <= 2 * LONG]
        ahead *= prompt / fmean(r.prompt for r in kept)
        after *= output / fmean(r.output for r in kept)
    return (kept + kept)[: len(prompts)]


def _figures(out: Outcome, clients: int) -> dict[str, float]:
    longer = [(leave - first) / (r.output - 1) for r, first, leave in zip(out.requests, out.first, out.leave, strict=True) if r.output > 1]
    return {"ttft": fmean(waits(out, clients)), "tpot": fmean(longer), "whole": out.mean_time, "rate": out.throughput}
