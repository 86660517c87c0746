"""Files of figures that a user may write or be given: machines, boxes, hosts, prices, engines and assignments in TOML, results of a
benchmark. Each with one odd value in it, wherever that is: refused with a message, or used.

`IRONLAW_ATTACK=full`: 2,000 files of each kind.
"""

import json
import math
import random
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attack_length import length
from watched_texts import PACKAGE, attack, odd_values, replaced, watching

import ironlaw as il
from ironlaw.classroom import assignment
from ironlaw.engine.cluster.library import collective
from ironlaw.registry import boxes, engines, hosts, prices
from ironlaw.systems.serving.benchmarks import read_benchmark

TRIES = length(50, 2_000)
REGISTRY = PACKAGE / "registry"
MODEL = il.workload("resnet50")
VLLM = {
    "completed": 40, "max_concurrency": 4, "request_rate": "inf", "total_input_tokens": 40_000, "total_output_tokens": 4000,
    "mean_ttft_ms": 60.0, "mean_tpot_ms": 9.0,
}  # fmt: skip
GENAI = {
    "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 4}}}, "request_count": {"avg": 40.0},
    "input_sequence_length": {"avg": 1000.0}, "output_sequence_length": {"avg": 100.0}, "time_to_first_token": {"unit": "ms", "avg": 60.0},
    "inter_token_latency": {"unit": "ms", "avg": 9.0},
}  # fmt: skip
ASKED = {
    "title": "Week 3", "lab": [{"name": "lab_07", "acts": [1]}],
    "question": [
        {
            "title": "A wider bus", "asks": "By how much?", "premises": "As in the registry.", "scale": "log", "unit": "×",
            "key": 'hardware("h100_sxm").bandwidth / hardware("pi5").bandwidth', "feedback": "It is {{ answer }}.",
            "options": [{"id": f"e{n}", "value": 10**n, "label": f"{10**n:,}×", "feedback": "So."} for n in (1, 2, 3, 5)],
        }
    ],
}  # fmt: skip


def toml(value: object) -> str:
    """As TOML writes it, all on one line; what TOML has no word for as a file would have it that is no TOML."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def tables(data: object) -> str:
    return "".join(f"{json.dumps(key)} = {toml(one)}\n" for key, one in data.items()) if isinstance(data, Mapping) else toml(data)


def shipped(kind: str, slug: str, **own: str) -> dict:
    return {**tomllib.loads((REGISTRY / kind / f"{slug}.toml").read_text(encoding="utf-8")), **own}


def machine(path: Path) -> None:
    predicted = il.predict(MODEL, il.hardware(str(path)))
    assert not math.isnan(predicted.seconds)


def box(path: Path) -> None:
    made = boxes.load(path)
    assert not math.isnan(collective(made, "all_reduce", min(made.devices, 8), 1e6))


Files = tuple[str, dict, Callable[[object], str], Callable[[Path], object]]
FILES: dict[str, Files] = {
    "machines": ("mychip.toml", shipped("hardware", "h100_sxm", name="My chip", aliases=["chippy"]), tables, machine),
    "boxes": ("mybox.toml", shipped("box", "dgx_a100", name="My box"), tables, box),
    "hosts": ("myhost.toml", shipped("host", "xeon_vm", name="My host"), tables, hosts.load),
    "prices": ("h100_sxm.toml", shipped("price", "h100_sxm"), tables, prices.load),
    "engines": ("vllm.toml", shipped("engine", "vllm"), tables, engines.load),
    "assignments": ("labs.toml", ASKED, tables, assignment.from_toml),
    "results of vllm bench": ("vllm.json", VLLM, json.dumps, lambda path: read_benchmark(str(path))),
    "results of genai-perf": ("genai.json", GENAI, json.dumps, lambda path: read_benchmark(str(path))),
}


@pytest.mark.parametrize("kind", FILES)
def test_files_with_an_odd_value(kind, tmp_path, figure):
    name, base, text, use = FILES[kind]
    chance, given = random.Random(kind), odd_values(sum(map(ord, kind)))
    path = tmp_path / name

    def tried(content: str) -> None:
        watching.append([])  # the file itself may be opened
        try:
            path.write_text(content, encoding="utf-8", errors="surrogatepass")
            use(path)
        finally:
            inside = watching.pop()
        assert not [event for event in inside if str(path) not in event], inside

    tried(text(base))
    inputs = (text(replaced(base, chance, given)) for _ in range(TRIES))
    outcomes = attack(kind, tried, inputs, tmp_path / "canary", figure)
    assert outcomes["refused"] > TRIES / 4
