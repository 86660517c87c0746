"""Wires and rings: rates against the standards and published all-reduces, and what holds for any box."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.collectives import bus_bandwidth, time
from ironlaw.engine.cluster.links import Box, Interconnect, binding_edge, ring_bandwidth, transfer
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.interconnects import interconnect


def wire(rate: float) -> Interconnect:
    return Interconnect("w", "wire", rate, rate)


PAIRS = Box("pairs", "pairs", "x", 4, 2, wire(200e9), wire(24e9), wire(10e9), 4)


@pytest.mark.parametrize(("slug", "rate"), [("nvlink3", 300e9), ("nvlink4", 450e9), ("nvlink5", 900e9)])
def test_a_printed_nvlink_figure_is_both_directions(slug: str, rate: float) -> None:
    one = interconnect(slug)
    assert one.per_direction == rate == one.advertised / 2


@pytest.mark.parametrize(("generation", "giga_transfers"), [(3, 8), (4, 16), (5, 32)])
def test_pcie_is_its_signalling_less_the_line_code(generation: int, giga_transfers: int) -> None:
    exact = giga_transfers * 1e9 * 16 / 8 * 128 / 130
    assert interconnect(f"pcie{generation}_x16").per_direction == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize(
    ("slug", "ranks", "nics", "seen", "within"),
    [
        ("dgx_h100", 8, None, 370e9, 0.10),  # nccl-tests#212, ring
        ("a100_pairs", 4, None, 23.6e9, 0.02),
        ("h100_pairs", 4, None, 48.8e9, 0.05),  # foretold by the share that pairs of A100 reach
        ("dgx_a100", 16, 4, 96e9, 0.10),  # nccl-tests#119
        ("dgx_a100", 16, 8, 192e9, 0.10),  # nccl#812
    ],
)
def test_the_slowest_edge_is_what_others_measured(slug: str, ranks: int, nics: int | None, seen: float, within: float) -> None:
    assert ring_bandwidth(box(slug), ranks, nics) == pytest.approx(seen, rel=within)


def test_the_third_card_brings_a_slower_edge_and_names_it() -> None:
    assert ring_bandwidth(PAIRS, 2) == 200e9
    assert (binding_edge(PAIRS, 3).kind, binding_edge(PAIRS, 4).rate) == ("bridge", 24e9)
    assert binding_edge(PAIRS, 8).rate == 24e9 and binding_edge(PAIRS, 8, nics=1).kind == "nic"


def test_edges_that_leave_a_box_share_its_ports() -> None:
    assert ring_bandwidth(PAIRS, 8, nics=2) == 20e9
    scattered = (0, 4, 1, 5, 2, 6, 3, 7)  # every edge leaves its box, four from each
    assert ring_bandwidth(PAIRS, 8, order=scattered) == 10e9


@given(st.permutations(range(8)), st.integers(0, 7), st.floats(0.1, 1.0))
def test_a_ring_has_no_beginning_no_direction_and_never_beats_an_edge(order: list[int], turn: int, slower: float) -> None:
    rate = ring_bandwidth(PAIRS, 8, order=order)
    assert rate == ring_bandwidth(PAIRS, 8, order=order[turn:] + order[:turn]) == ring_bandwidth(PAIRS, 8, order=order[::-1])
    assert rate <= 200e9
    assert ring_bandwidth(replace(PAIRS, bridge=wire(24e9 * slower)), 8, order=order) <= rate
    swapped = [rank ^ 1 if rank < 2 else rank for rank in order]  # two cards of one pair
    assert ring_bandwidth(PAIRS, 8, order=swapped) == rate


@given(st.integers(2, 4096))
def test_bus_bandwidth_of_equal_links_does_not_depend_on_their_number(n: int) -> None:
    seconds = time("all_reduce", "ring", n, 1e9, 0.0, 50e9).total
    assert bus_bandwidth("all_reduce", n, 1e9, seconds) == pytest.approx(50e9)
    assert 25e9 <= 1e9 / seconds <= 50e9


def test_a_message_takes_its_start_and_its_bytes() -> None:
    assert transfer(1e9, wire(50e9), 1e-3) == pytest.approx(0.021)


def test_a_box_without_the_wire_says_which_to_add() -> None:
    with pytest.raises(BadValue, match=r"a100_pairs has no nic between boxes; add `nic = …` to registry/box/a100_pairs\.toml"):
        ring_bandwidth(box("a100_pairs"), 8)
    with pytest.raises(BadValue, match="9 NICs per box; dgx_h100 has 8: give 1 to 8"):
        ring_bandwidth(box("dgx_h100"), 16, nics=9)
    with pytest.raises(BadValue, match="does not name each of 4 ranks once"):
        ring_bandwidth(PAIRS, 4, order=(0, 1, 2, 2))
    with pytest.raises(BadValue, match="give at least 2"):
        binding_edge(PAIRS, 1)
