"""Rings, α and β against all-reduces that others timed, and the shares of a step that follow from them."""

from dataclasses import replace

import pytest

from ironlaw.engine.cluster.collectives import bus_bandwidth, time
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box, binding_edge, ring_bandwidth, ring_edges
from ironlaw.engine.cluster.volumes import calls, tensor_bytes
from ironlaw.errors import BadRegistry
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.machines import hardware
from ironlaw.registry.publications import published
from ironlaw.registry.timed_wires import timed_wire

ROWS = published("vidur_all_reduce")


def bus_of_the_longest(slug: str, ranks: int, per_box: int | None = None) -> float:
    (row,) = ROWS.where(box=slug, ranks=ranks, per_box=per_box or ranks)
    return bus_bandwidth("all_reduce", ranks, float(row["size"]), float(row["median"]))


@pytest.mark.parametrize(
    ("slug", "ranks", "within"),
    [("dgx_h100", 8, 0.10), ("a100_pairs", 2, 0.20), ("h100_pairs", 2, 0.25), ("a100_pairs", 4, 0.05), ("h100_pairs", 4, 0.05)],
)
def test_the_longest_message_of_others_is_near_the_slowest_edge(slug: str, ranks: int, within: float) -> None:
    assert bus_of_the_longest(slug, ranks) == pytest.approx(ring_bandwidth(box(slug), ranks), rel=within)


def test_the_third_card_costs_a_factor_of_eight() -> None:
    """Beside 8.3 (A100, 520 MB) and 3.9 (H100, 67 MB) as timed: the wires say 10 and 5."""
    for slug, timed in (("a100_pairs", 8.3), ("h100_pairs", 3.9)):
        assert bus_of_the_longest(slug, 2) / bus_of_the_longest(slug, 4) == pytest.approx(timed, rel=0.01)
        assert 1.0 < ring_bandwidth(box(slug), 2) / ring_bandwidth(box(slug), 4) / timed < 1.35


def test_one_share_of_pci_express_holds_for_two_generations() -> None:
    shares = {interconnect(f"pcie{generation}_x16").efficiency for generation in (3, 4, 5)}
    assert max(shares) - min(shares) < 0.005 and max(shares) == pytest.approx(23.6 / 31.51, abs=0.005)


def test_a_faster_bridge_moves_the_whole_ring() -> None:
    """A100 pairs with PCI Express 5 between them: 48 GB/s instead of 24."""
    at = box("a100_pairs")
    assert ring_bandwidth(at, 4) == pytest.approx(23.6e9, rel=0.02)
    assert ring_bandwidth(replace(at, bridge=interconnect("pcie5_x16")), 4) == pytest.approx(48e9, rel=0.03)


@pytest.mark.parametrize(("nics", "timed"), [(4, 91e9), (4, 96e9), (8, 192e9)])  # nccl-tests#100, #119, nccl#812
def test_ports_of_a_box_add_up(nics: int, timed: float) -> None:
    assert ring_bandwidth(box("dgx_a100"), 16, nics) == pytest.approx(timed, rel=0.10)
    assert binding_edge(box("dgx_a100"), 16, nics).kind == "nic"


def test_another_cluster_of_the_same_boxes_has_few_and_slow_ports() -> None:
    """174 GB/s in the box and 17.5 over two: by ports of 5.9 GB/s, as one device a box shows, four of them at most in use."""
    inside, across, alone = (bus_of_the_longest("dgx_a100", *ranks) for ranks in ((8, 8), (16, 8), (2, 1)))
    assert across < alone * 4 < inside / 5
    poor = replace(box("dgx_a100"), nic=replace(interconnect("hdr200"), achieved=alone), nics=4)
    assert ring_bandwidth(poor, 16, nics=3) == pytest.approx(across, rel=0.05)


def test_shares_of_a_step_inside_a_box_and_between_boxes() -> None:
    """Llama 3 70B, eight-way, 8,192 tokens, arithmetic at half of the peak: 19% inside, 65 over one port, 31 over four a box."""
    shape, chip = decoder("llama3_70b"), hardware("h100_sxm")
    arithmetic = 6 * 70.6e9 * 8192 / (8 * chip.peak("bf16") * 0.5)
    sent = tensor_bytes(shape.layers, shape.hidden, 8192, 1, 8)
    at = box("dgx_h100")
    half = Box("half", "half", at.device, 4, 4, at.link, None, at.nic, 4)
    rates = ring_bandwidth(at, 8), ring_bandwidth(half, 8, nics=1), ring_bandwidth(half, 8)
    shares = [sent / rate / (sent / rate + arithmetic) for rate in rates]
    assert shares == pytest.approx([0.188, 0.646, 0.313], abs=0.002)
    assert tensor_bytes(shape.layers, shape.hidden, 8192, 1, 1) == 0
    made = calls(shape, Layout(8, sequence_parallel=False), 8192, 1, 8)["tensor"]
    assert sent == sum(call.wire_bytes for call in made) == 320 * 1.75 * 8192 * 8192 * 2
    assert tensor_bytes(shape.layers, shape.hidden, 8192, 1, 8, "fp8") == sent / 2


def test_crossing_pairs_may_only_add_slow_edges() -> None:
    at = box("a100_pairs")
    for i, j in ((0, 2), (0, 3), (1, 2), (1, 3)):
        order = [0, 1, 2, 3]
        order[i], order[j] = order[j], order[i]
        slow = [sum(edge.kind == "bridge" for edge in ring_edges(at, 4, order=each)) for each in (range(4), order)]
        assert slow[1] >= slow[0] == 2 and ring_bandwidth(at, 4, order=order) <= ring_bandwidth(at, 4)
        assert ring_bandwidth(at, 4, order=order) == min(edge.rate for edge in ring_edges(at, 4, order=order))


@pytest.mark.parametrize(
    ("algorithm", "more", "share"),
    [("ring", {}, 0.84), ("two_level", {"per_node": 8, "beta_inner": 450e9, "alpha_inner": 0.0}, 0.74), ("double_tree", {}, 0.08)],
)
def test_what_of_a_bucket_is_latency(algorithm: str, more: dict[str, float], share: float) -> None:
    """25 MB over 512 ranks, 5 µs a step and 50 GB/s."""
    terms = time("all_reduce", algorithm, 512, 25e6, 5e-6, 50e9, **more)
    assert terms.latency / terms.total == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize(
    ("slug", "ranks", "start", "rate", "error"), [("dgx_h100", 8, 28.6e-6, 339e9, 0.055), ("a100_pairs", 4, 60e-6, 23.6e9, 0.013)]
)
def test_two_numbers_explain_every_size(slug: str, ranks: int, start: float, rate: float, error: float) -> None:
    """Fitted elsewhere to the same rows by another loss: starts of a whole ring, bus bandwidth, mean error."""
    found = timed_wire(slug, ranks)
    assert found.wire.alpha * 2 * (ranks - 1) == pytest.approx(start, rel=0.1) and found.wire.beta == pytest.approx(rate, rel=0.1)
    assert found.error == pytest.approx(error, rel=0.1) and found.rows > 60


def test_what_a_library_takes_for_its_steps_brackets_what_was_timed() -> None:
    """Eight ranks on NVLink: NCCL's tuner has 15 µs for small messages and 56 for large ones."""
    counts = {row["protocol"]: row["base"] + 14 * row["step"] for row in published("nccl_tuning").where(wire="nvlink", algorithm="ring")}
    assert (counts["LL"], counts["Simple"]) == pytest.approx((15.0e-6, 56.0e-6))
    assert counts["LL"] < 14 * timed_wire("dgx_h100", 8).wire.alpha < counts["Simple"]


def test_a_switch_that_adds_is_above_its_wire_by_the_convention() -> None:
    for row in published("nvlink_sharp").where():
        for way in ("ring", "switch"):
            assert bus_bandwidth("all_reduce", 8, row[f"{way}_alg"], 1.0) == pytest.approx(row[f"{way}_bus"], rel=0.005)
    row = published("nvlink_sharp").where(device="H100")[0]
    assert row["switch_bus"] > interconnect("nvlink4").per_direction > row["ring_bus"] == pytest.approx(box("dgx_h100").bus, rel=0.01)
    assert row["switch_alg"] * 9 / 8 < interconnect("nvlink4").per_direction  # what a wire carries: the message and an eighth of it


def test_a_box_that_nobody_timed_is_refused() -> None:
    with pytest.raises(BadRegistry, match="no fit of 8 ranks on 'a100_pairs'"):
        timed_wire("a100_pairs", 8)
