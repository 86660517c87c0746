"""Measured power and copies of the H200 beside what the registry and the engine say; nothing was fitted to these rows."""

from itertools import pairwise

import pytest

from ironlaw import Plan, hardware, predict
from ironlaw.registry.decoders import decoder
from ironlaw.registry.evidence import evidence
from ironlaw.registry.families.served import step
from ironlaw.registry.interconnects import interconnect

H200 = "h200_sxm"


def rows(name):
    return next(file.rows for file in evidence(H200) if file.name == f"{H200}/{name}")


@pytest.mark.parametrize("context", [1024, 4096])
def test_joules_a_token_fall_with_the_batch(context):
    ours = [row for row in rows("decode_power") if row.params["context"] == context]
    assert len(ours) >= 5
    for small, large in pairwise(ours):
        assert large.params["batch"] > small.params["batch"]
        assert large.extra["joules_per_token"] < small.extra["joules_per_token"]
        assert large.extra["watts"] > 0.99 * small.extra["watts"]  # more work a second, until the limit
    assert ours[0].extra["joules_per_token"] > 20 * ours[-1].extra["joules_per_token"]


def test_board_power_is_never_above_what_the_registry_says():
    for row in rows("decode_power"):
        assert row.extra["idle_watts"] < row.extra["watts"] < hardware(H200).power
        assert row.extra["joules_per_token"] == pytest.approx(row.extra["watts"] * row.piped_s / row.params["batch"], rel=1e-3)


def test_decoding_steps_under_power_are_predicted_within_eight_percent():
    model, plan, errors = decoder("llama3_8b"), Plan(mode="eager_graphs"), []
    for row in rows("decode_power"):
        graph = step(model, batch=row.params["batch"], context=row.params["context"], fused=False)
        errors.append(float(predict(graph, hardware(H200), plan).seconds) / row.value("piped_s") - 1)
    assert max(map(abs, errors)) < 0.08 and sum(map(abs, errors)) / len(errors) < 0.05


def test_pinned_copies_reach_most_of_the_bus_and_pageable_ones_a_quarter_at_most():
    bus = interconnect("pcie5_x16").per_direction
    rate = {
        (row.params["host"], row.params["direction"]): row.params["bytes"] / row.value("piped_s")
        for row in rows("host_copies")
        if row.params["bytes"] == 1 << 30
    }
    assert len(rate) == 5
    for direction in ("to_device", "to_host"):
        assert 0.85 * bus < rate["pinned", direction] < bus
        assert 0.1 * bus < rate["pageable", direction] < 0.3 * bus
    assert 0.02 * bus < rate["fresh", "to_host"] < 0.04 * bus  # pages that the system has yet to hand out


def test_an_attack_costs_more_than_its_flops_and_about_its_passes():
    """(2K + 3) / 3 by FLOPs, K + 1 if an attack's step cost a training step: measured between them where the device is busy."""
    for mode in ("eager", "compiled"):
        by = {row.params["steps"]: row.value("piped_s") for row in rows("attack_steps") if row.mode == mode and row.params["batch"] == 1024}
        for steps in (1, 7, 10):
            assert (2 * steps + 3) / 3 < by[steps] / by[0] < steps + 1
