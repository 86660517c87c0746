"""A step with its sum in buckets, against hand counts and against the step with groups on wires."""

import pytest

from ironlaw.engine.cluster.collectives import BEST, time
from ironlaw.errors import UnknownName
from ironlaw.registry.boxes import box
from ironlaw.systems.training.bucketed_steps import SUMS, TUNER, bucketed_step, network
from ironlaw.systems.training.placed_steps import placed_step


def test_the_premise_by_hand() -> None:
    """8.03 billion gradients of two bytes, 25 MB a bucket; 1,022 steps of 5 µs, 1.996 times the bytes at 50 GB/s."""
    one = bucketed_step("llama3_8b", 512)
    assert one.queue.gradients == pytest.approx(2 * 8.03e9, rel=1e-3) and one.queue.count == 643
    assert one.queue.each == pytest.approx(1022 * 5e-6 + 2 * 511 / 512 * 25e6 / 50e9)
    assert one.latency_share == pytest.approx(0.837, abs=0.001)
    assert one.queue.exposed == pytest.approx(one.queue.seconds + one.queue.backward / 643 - one.queue.backward, rel=1e-3)
    assert one.step.total == pytest.approx(one.queue.exposed + one.step.compute + one.step.update)


def test_passes_and_memory_are_those_of_the_groups_on_wires() -> None:
    one, other = bucketed_step("llama3_70b", 64, tensor=8, gradient_bytes=4.0), placed_step("llama3_70b", "dgx_h100", 8, 8)
    assert (one.step.compute, one.step.tensor, one.queue.backward) == (other.step.compute, other.step.tensor, other.backward_s)
    assert one.memory == other.memory and one.free == other.usable - float(other.memory.total)


def test_wires_of_a_network() -> None:
    wires = network(tensor=2)
    assert (wires.beta, wires.per_node, wires.beta_inner) == (50e9, 4, box("dgx_h100").bus) and wires.alpha_inner == 3.4e-6
    levels = time("all_reduce", "two_level", 64, 1e6, 5e-6, 50e9, 4, box("dgx_h100").bus, 3.4e-6)
    assert wires.terms("two_level", 64, 1e6) == levels
    assert wires.terms("double_tree", 64, 1e6) == time("all_reduce", "double_tree", 64, 1e6, 5e-6, 50e9, chunk=BEST)
    for size in (1e3, 1e6, 1e9):
        assert wires.terms(TUNER, 64, size).total == min(wires.terms(name, 64, size).total for name in SUMS)
    assert network(beta=1e9).beta == 1e9 and wires.fastest(6, 1e9) != "rabenseifner"
    with pytest.raises(UnknownName, match="no algorithm of a sum 'gossip'"):
        wires.terms("gossip", 8, 1e6)


def test_one_replica_sends_nothing() -> None:
    alone = bucketed_step("llama3_8b", 8, tensor=8)
    assert alone.queue.exposed == alone.queue.seconds == alone.latency_share == 0.0
