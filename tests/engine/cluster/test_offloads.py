"""What lies in the host's memory, what its copies and its update take, by hand; and bytes that others measured."""

from dataclasses import replace

import pytest

from ironlaw.engine.cluster.footprint import static_bytes
from ironlaw.engine.cluster.layouts import Layout, check
from ironlaw.engine.cluster.offloads import REACHED, Host, copies, host_bytes, waited
from ironlaw.engine.cluster.search import Job, fits, held_bytes
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import Stack
from ironlaw.engine.cluster.steps import Compute, step_time
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.systems.training.host_memory import host_of

SMALL = Shape("small", 4, 64, 8, 8, 8, 256, 1000)
ALL = ("optimiser", "gradients", "weights")
HOST = Host(link=1e6, memory=8e6, holds=1e12)
GIB = 2.0**30


def test_what_leaves_the_device_was_measured_by_others() -> None:
    """LLaMA 7B on eight A800 under ZeRO-3: 14.8 GiB at rest, 3.8 with optimiser and gradients on the host, 2.2 with the weights there, too;
    gradients in 16 bits (https://gist.github.com/chenyaofo/d4cd6a20ab4b95cb3a49491747e2139a)."""
    layout = Layout(data=8, zero=3, gradient_bytes=2.0)

    def held(*offload: str) -> float:
        return float(static_bytes(6.738e9, replace(layout, offload=offload)).total) / GIB

    assert held() - held("optimiser", "gradients") == pytest.approx(14.8 - 3.8, rel=0.01)
    assert held("optimiser", "gradients") - held(*ALL) == pytest.approx(3.8 - 2.2, rel=0.03)


def test_thirteen_billion_parameters_on_one_device() -> None:
    """A V100 of 32 GB trains 13B with ZeRO-Offload and 1.4B without (arXiv:2101.06840): weights stay, 16 bytes per parameter become 2."""
    alone, away = Layout(gradient_bytes=2.0), Layout(gradient_bytes=2.0, offload=("optimiser", "gradients"))
    assert static_bytes(1.4e9, alone).total < 32e9 < static_bytes(13e9, alone).total
    assert static_bytes(13e9, away).total == 26e9 and static_bytes(17e9, away).total > 32e9


def test_copies_and_update_by_hand() -> None:
    mine = SMALL.parameters  # one device, one stage, a head of its own
    took = copies(SMALL, Layout(offload=("optimiser",)), 3, HOST)
    assert took.down == pytest.approx(4 * mine / 1e6) and took.up == pytest.approx(2 * mine / 1e6)
    assert took.update == pytest.approx((12 + 12 + 4 + 2) * mine / (REACHED * 8e6))  # state read and written, gradients read, a copy made
    assert waited(SMALL, Layout(offload=("optimiser",)), 3, HOST, 1e9, 1e9) == took.update  # the longest of three beside each other
    assert host_bytes(SMALL, Layout(offload=("optimiser",))) == 16 * mine


def test_shards_on_the_host_move_for_each_microbatch() -> None:
    """Two replicas, three microbatches: each gathers a shard in FP32 twice and sums it up once."""
    layout, mine = Layout(data=2, zero=3, offload=ALL), SMALL.parameters / 2
    took = copies(SMALL, layout, 3, HOST)
    assert took.down == pytest.approx(3 * 4 * mine / 1e6) and took.up == pytest.approx(6 * 4 * mine / 1e6)
    assert took.update == pytest.approx(28 * mine / (REACHED * 8e6))
    each = 4 * mine / 1e6  # up before either pass; down beside the one back
    assert waited(SMALL, layout, 3, HOST, 0.0, 0.0) == pytest.approx(took.update + 3 * 2 * each)
    assert waited(SMALL, layout, 3, HOST, each / 2, 2 * each) == pytest.approx(took.update + 3 * each / 2)
    kept = replace(layout, zero=2)  # gathered once for the whole step
    assert waited(SMALL, kept, 3, HOST, 0.0, 0.0) == pytest.approx(took.update + each + 3 * each)
    assert static_bytes(100.0, kept).weights == 200 and static_bytes(100.0, layout).weights == 0 == static_bytes(100.0, kept).gradients


def test_a_step_ends_with_what_is_waited_for() -> None:
    layout, work = Layout(data=2, zero=3, offload=ALL), Compute(1e-3, 2e-3, 0.0, 1e-4, 0.0)
    with_host, without = (step_time(SMALL, layout, box("dgx_h100"), 6, 64, work, host=host) for host in (HOST, None))
    assert with_host.offload == pytest.approx(waited(SMALL, layout, 3, HOST, 4e-3, 8e-3)) and without.offload == 0
    assert with_host.total - with_host.offload == pytest.approx(without.total)


def test_a_host_may_be_too_small_or_unknown() -> None:
    layout = Layout(data=2, offload=("optimiser",))
    job = Job(SMALL, box("dgx_h100"), 2, 64, 1e9, 1e15, host=HOST)
    assert fits(job, layout) and held_bytes(job, layout).optimiser == 0
    tight = replace(HOST, holds=0.99 * float(host_bytes(SMALL, layout)))
    assert not fits(replace(job, host=tight), layout) and not fits(replace(job, host=None), layout)
    chip, at = hardware("h100_sxm"), box("dgx_h100")
    one, eight = host_of(at, chip, 1), host_of(at, chip, 64)
    assert one and eight and one.memory == at.host_memory == 8 * eight.memory and one.link == eight.link == pytest.approx(53e9, rel=0.02)
    assert host_of(box("hgx_h20"), hardware("h20"), 8) is None


def test_what_can_not_be_offloaded_is_refused() -> None:
    with pytest.raises(BadValue, match=r"only shards .* give ZeRO-2 or ZeRO-3 over at least two replicas") as error:
        check(decoder("llama3_8b"), Layout(data=2, zero=1, offload=ALL), 2, 8192)
    assert error.value.field == "offload"
    with pytest.raises(UnknownName, match="known: gradients, optimiser, weights"):
        Layout(offload=("caches",))
    able = Stack("x", "x", zeros=(3, 1), offload=ALL, offload_zeros=(3,))
    assert able.lacks(Layout(data=2, zero=3, offload=ALL)) is None and able.choices(offload=True)["zero"] == (3,)
    assert able.lacks(Layout(data=2, zero=1, offload=ALL)) == ("offload", "the host's memory for ZeRO 3 only")
    assert replace(able, offload=()).lacks(Layout(data=2, zero=3, offload=ALL)) == ("offload", "no option for the host's memory")
