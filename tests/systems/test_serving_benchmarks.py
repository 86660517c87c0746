"""An engine's own time follows a benchmark: a run that was simulated with known times gives them back."""

import json
from dataclasses import replace
from statistics import fmean

import pytest

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.llm.closed import waits
from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.decoders import decoder
from ironlaw.registry.engines import PLAIN, engine, engines
from ironlaw.registry.machines import registered
from ironlaw.systems.serving.benchmarks import followed, read_benchmark
from ironlaw.systems.serving.deployments import deployment

VLLM = {
    "completed": 40, "max_concurrency": 4, "request_rate": "inf", "total_input_tokens": 40_000, "total_output_tokens": 4000,
    "mean_ttft_ms": 60.0, "mean_tpot_ms": 9.0,
}  # fmt: skip
GENAI = {
    "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 4}}}, "request_count": {"avg": 40.0},
    "input_sequence_length": {"avg": 1000.0}, "output_sequence_length": {"avg": 100.0}, "time_to_first_token": {"unit": "ms", "avg": 60.0},
    "inter_token_latency": {"unit": "ms", "avg": 9.0},
}  # fmt: skip


def test_both_tools_are_read_alike(tmp_path):
    place = tmp_path / "result.json"
    place.write_text(json.dumps(VLLM))
    mine = read_benchmark(str(place))
    place.write_text(json.dumps(GENAI))
    assert vars(read_benchmark(str(place))) == pytest.approx(vars(mine)) and (mine.clients, mine.prompt, mine.output) == (4, 1000.0, 100.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"), ("[1]", "no table"), ("{}", "lacks"), (json.dumps(VLLM | {"completed": 0}), "something else"),
        (json.dumps(VLLM).replace("40,", "1e999,", 1), "something else"), (json.dumps({"input_config": "x"}), "something else"),
        (json.dumps(VLLM | {"mean_tpot_ms": -1}), "no run has"),
        (json.dumps(VLLM | {"request_rate": -5, "max_concurrency": None}), "no run has"),
        (json.dumps({**GENAI, "input_config": {}}), "lacks"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, text, words):
    place = tmp_path / "result.json"
    place.write_text(text)
    with pytest.raises(BadValue, match=words):
        read_benchmark(str(place))


def test_known_times_come_back(tmp_path):
    """A run with 2 ms per step and 30 ms before the first token, simulated, then read as if it had been measured."""
    rig = deployment(decoder("qwen2_0_5b"), registered("h200_sxm"), coarse=True)
    policy, requests = Policy(most=4, budget=8192), [Request(0.0, 1000, 100)] * 40
    own = Engine("mine", "mine", 2e-3, 0.0, 30e-3)
    table = replace(rig.part, start=rig.part.start + own.step)
    out = replace(rig, table=table).run(requests, policy)
    tpot = fmean((leave - first) / 99 for first, leave in zip(out.first, out.leave, strict=True))
    place = tmp_path / "result.json"
    place.write_text(json.dumps(VLLM | {"mean_tpot_ms": 1e3 * tpot, "mean_ttft_ms": 1e3 * (fmean(waits(out, 4)) + own.first)}))
    found, factor = followed(PLAIN, read_benchmark(str(place)), rig, policy, 0.0)
    assert factor == 1.0 and found.step == pytest.approx(2e-3, rel=0.02) and found.first == pytest.approx(30e-3, rel=0.05)
    place.write_text(json.dumps(VLLM | {"mean_tpot_ms": 0.5e3 * (tpot - 2e-3)}))  # faster than the device alone
    found, factor = followed(PLAIN, read_benchmark(str(place)), rig, policy, 0.0)
    assert found.step == 0 and factor == pytest.approx(0.5, rel=0.05)


def test_known_times_come_back_from_a_run_at_a_fixed_rate(tmp_path):
    """40 requests, 20 a second at Poisson moments, with 2 ms per step and 30 ms before the first token."""
    rig = deployment(decoder("qwen2_0_5b"), registered("h200_sxm"), coarse=True)
    policy, own = Policy(most=256, budget=8192), Engine("mine", "mine", 2e-3, 0.0, 30e-3)
    requests = [Request(at, 1000, 100) for at in poisson(20.0, 40, 1)]
    out = replace(rig, table=replace(rig.part, start=rig.part.start + own.step), front=own.front).run(requests, policy)
    tpot = fmean((leave - first) / 99 for first, leave in zip(out.first, out.leave, strict=True))
    ttft = fmean(first - r.arrive for r, first in zip(requests, out.first, strict=True))
    given = VLLM | {"max_concurrency": None, "request_rate": 20.0, "mean_tpot_ms": 1e3 * tpot, "mean_ttft_ms": 1e3 * ttft}
    place = tmp_path / "result.json"
    place.write_text(json.dumps(given))
    found, factor = followed(PLAIN, read_benchmark(str(place)), rig, policy, 0.0)
    assert factor == 1.0 and found.step == pytest.approx(2e-3, rel=0.02) and found.first == pytest.approx(30e-3, rel=0.05)
    place.write_text(json.dumps(GENAI | {"input_config": {"perf_analyzer": {"stimulus": {"request_rate": 20.0}}}}))
    assert (read_benchmark(str(place)).rate, read_benchmark(str(place)).clients) == (20.0, 0)


def test_engines_of_the_registry():
    assert engines() == ("sglang", "trtllm", "vllm", "plain") and engine("TensorRT-LLM").slug == "trtllm" and engine("plain") is PLAIN
    for name in engines()[:-1]:
        own = engine(name)
        assert 0 < own.step < 0.01 and own.first < 0.1 and own.spread > 0
        assert len(own.sources) == 4 + bool(own.request) + bool(own.ungrouped)
    with pytest.raises(UnknownName, match="vllm"):
        engine("vlm")
