"""Groups on wires: shares by hand from volumes, rates and predicted passes; and what makes them larger or smaller."""

import pytest

from ironlaw.engine.cluster.library import pipelined
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.publications import published
from ironlaw.systems.training.placed_steps import placed_step


def test_a_tensor_group_in_a_box_by_hand() -> None:
    """Sequence parallelism: a gather and a scatter of b·s·h for each of two all-reduces, forward and backward, in 32 layers."""
    one, at, shape = placed_step("llama3_8b", "dgx_h100", 8, 2), box("dgx_h100"), decoder("llama3_8b")
    message = 8192 * shape.hidden * 2
    each = pipelined(at.start, 7 / 8 * message / at.bus)
    assert one.step.tensor == pytest.approx(2 * 4 * shape.layers * each)
    assert one.tensor_share == pytest.approx(one.step.tensor / (one.step.tensor + one.step.compute))


def test_ports_decide_what_a_group_over_two_boxes_costs() -> None:
    alone, few, many = (placed_step("llama3_8b", "dgx_h100", t, nics=n).tensor_share for t, n in ((8, None), (16, 1), (16, 8)))
    assert alone < many < few and alone == pytest.approx(0.35, abs=0.03) and few == pytest.approx(0.90, abs=0.03)
    assert placed_step("llama3_8b", "dgx_h100", 1, 16).tensor_share == 0.0


def test_hiding_the_sum_is_a_matter_of_degree() -> None:
    shares = [placed_step("llama3_8b", "dgx_h100", 2, 8, nics=1, overlap=o) for o in (0.0, 0.5, 1.0)]
    none, half, all_of_it = (one.step.data for one in shares)
    assert none == shares[0].sum_s and half == pytest.approx((none + all_of_it) / 2) and all_of_it < none
    assert shares[0].communication > shares[2].communication and shares[0].tokens_per_s < shares[2].tokens_per_s


def test_zero_makes_room() -> None:
    totals = [float(placed_step("llama3_8b", "dgx_h100", 1, 16, zero=zero).memory.total) for zero in range(4)]
    assert totals == sorted(totals, reverse=True)
    assert not placed_step("llama3_8b", "dgx_h100", 1, 16, zero=0).fits and placed_step("llama3_8b", "dgx_h100", 1, 16, zero=3).fits


def test_pairs_have_no_ports_to_leave_by() -> None:
    with pytest.raises(BadValue, match="a100_pairs has no NIC"):
        placed_step("llama3_8b", "a100_pairs", 4, 2)


def test_reported_rings_are_near_what_the_ports_give() -> None:
    table, at = published("nccl_issues"), box("dgx_a100")
    assert at.nic is not None
    for row in table.where():
        if row["ports"]:
            assert float(row["bus"]) == pytest.approx(int(row["ports"]) * at.nic.achieved, rel=0.11)
        else:
            assert float(row["bus"]) == pytest.approx(at.bus, rel=0.01)
