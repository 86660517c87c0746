"""What would fit: lines and parabolas by hand, and against graphs built at the size that is found and the next one."""

from dataclasses import replace

import pytest

from ironlaw.engine.device.memory import footprint
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.report.sections.capacity_section import section
from ironlaw.systems.largest_sizes import GRID, Capacity, Growth, capacities, growth, together, words

T4, H200 = hardware("t4"), hardware("h200_sxm")


def test_by_hand():
    # 10 bytes held; alive 5 + 2n at one operator and 20 at another
    grown = Growth("batch", 4, (10.0, 0.0), ((5.0, 2.0), (20.0, 0.0)))
    assert [grown.total(n) for n in (1, 7, 8, 100)] == [30.0, 30.0, 31.0, 215.0]
    (room,) = capacities([grown], [replace(T4, capacity=30.0, reserved=0.0)])
    assert room.largest == 7
    (room,) = capacities([grown], [replace(T4, capacity=30.0, reserved=1.0)])
    assert room.largest == 0
    (room,) = capacities([Growth("tokens", 2, (0.0, 0.0, 0.0), ((1.0, 0.0, 3.0),))], [replace(T4, capacity=76.0, reserved=0.0)])
    assert room.largest == 5  # 1 + 3·25


@pytest.mark.parametrize(("model", "settings"), [("resnet50", {}), ("gpt2", {"seq": 64}), ("vit_b16", {})])
def test_the_largest_batch_fits_and_the_next_does_not(model, settings):
    made = {n: workload(model, batch=n, dtype="fp16", **settings) for n in (8, 16)}
    (room,) = capacities([growth("batch", made)], [T4])
    after = room.largest + 1 + 2 * room.largest // GRID  # as near as the allocator is asked
    used = [footprint(workload(model, batch=n, dtype="fp16", **settings), T4) for n in (room.largest, after)]
    assert used[0].fits and not used[1].fits and used[0].total <= T4.usable
    assert room.now == 8


def test_the_longest_sequence_fits_and_the_next_does_not():
    made = {n: workload("llama3_2_1b", seq=n, batch=1, dtype="fp16") for n in (128, 256, 384)}
    (room,) = capacities([growth("tokens", made, 131072)], [H200])
    after = room.largest + 1 + 2 * room.largest // GRID
    used = [footprint(workload("llama3_2_1b", seq=n, batch=1, dtype="fp16"), H200) for n in (room.largest, after)]
    assert used[0].fits and not used[1].fits and used[0].total <= H200.usable
    assert words(room) == f"sequences of up to {room.largest:,} tokens (here 128; the model itself takes 131,072)"


def test_other_operators_say_nothing():
    assert growth("batch", {1: workload("gpt2"), 2: workload("resnet50")}) is None
    with pytest.raises(ValueError, match="tokens needs captures at 3 sizes, and 2 were given"):
        growth("tokens", {1: workload("gpt2"), 2: workload("gpt2")})


def test_words():
    assert words(Capacity(T4, "batch", 8, 1234)) == "a batch of up to 1,234 (here 8)"
    assert words(Capacity(T4, "batch", 8, 0)) == "not even a batch of 1"
    assert words(Capacity(T4, "tokens", 128, 4000, 8192)) == "sequences of up to 4,000 tokens (here 128)"
    assert section(()) == ""
    shown = section((Capacity(T4, "batch", 8, 1234), Capacity(T4, "tokens", 128, 4000, 8192)))
    assert "a batch of up to 1,234 (here 8); sequences of up to 4,000 tokens (here 128)" in shown


def test_several_machines_in_one_sentence():
    rooms = [Capacity(T4, "tokens", 8, 0, 64), Capacity(H200, "tokens", 8, 4096, 64)]
    assert (
        together(rooms)
        == "The longest sequence, in tokens, in eager mode is less than 1 on t4 and 4,096 on h200_sxm (here 8; the model itself takes 64)"
    )
