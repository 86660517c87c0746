"""The host of captured models: medians of what was measured, scaled as the file says."""

import json
from pathlib import Path
from statistics import median

import pytest

import ironlaw as il

SETS = Path(__file__).parents[2] / "benchmarks/sealed_sets"
FACTOR = 0.65
FROM = ("seed-1", "seed-2", "seed-3", "own-1", "own-2")  # sets timed since judge it


def test_the_typical_hosts_launches_are_medians_of_the_profiles_that_were_measured_with_sealed_sets():
    hosts = [host["launches"] for name in FROM for host in json.loads((SETS / f"{name}.json").read_text()).get("hosts", [])]
    profiles = {launches["add"]: launches for launches in hosts}.values()  # a host that timed both halves of a set stands there twice
    assert len(profiles) == 8
    stored = il.host("typical").launches
    assert stored == pytest.approx({kind: FACTOR * median(one[kind] for one in profiles) for kind in stored}, rel=0.01)


def test_its_factor_is_what_a_published_layer_took():
    """0.833 ms of launching on a DGX H100, against 1.120 ms by the virtual machine's launches alone (tests/registry/test_hosts.py)."""
    from ironlaw.engine.device.host import IN_MODEL

    graph, machine = il.workload("llama3_8b", batch=1, context=64, phase="decode", dtype="fp16"), il.hardware("h200")
    typical, vm = (il.predict(graph, machine, il.Plan(host=il.host(name))).host_s for name in ("typical", "vm"))
    medians = 1.120e-3 * (typical / FACTOR) / vm
    assert 0.833e-3 / (IN_MODEL * medians) == pytest.approx(FACTOR, rel=0.1)
