"""What one device has of a model, and what a step takes where its sequences are dealt to stages or groups."""

import pytest

from ironlaw.engine.decoders.blocks import attention, experts
from ironlaw.engine.serving.llm.dealt_steps import DealtSteps
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.layout import Layout, active, sendings, share, stage, sums
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.replica import serve
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.engine.serving.llm.step_times import Grid, Line, StepTable
from ironlaw.errors import BadValue

MIXTRAL = Decoder("mixtral", 32000, 32, 4096, 32, 8, 128, 14336, experts=8, top_k=2)
LLAMA = Decoder("llama", 128256, 32, 4096, 32, 8, 128, 14336)
BLOCK = attention(2048, 32, 4, 128) + experts(2048, 128, 8, 768)
FINE = Decoder("fine", 151936, 4, 2048, 32, 4, 128, 768, experts=128, top_k=8, blocks=(BLOCK,) * 4)


def table(base=1.0):
    """A step of base seconds, a hundredth per token, and nothing for attention."""
    nothing = Grid((0.0, 1.0), (0.0, 1.0), ((0.0, 0.0), (0.0, 0.0)))
    return StepTable(base, Line((0.0, 1.0), (0.0, 0.01)), Line((0.0, 1.0), (0.0, 0.0)), nothing, nothing, 0.0)


def test_whole_experts_are_dealt_out():
    part = share(MIXTRAL, Layout(1, groups=4, whole=True))
    assert (part.experts, part.ffn, part.heads, part.top_k) == (
        2,
        14336,
        32,
        2,
    )  # as many rows as of one group's tokens: a quarter of four's
    under = share(MIXTRAL, Layout(2, whole=True))
    assert (under.experts, under.top_k, under.heads, under.ffn) == (4, 1, 16, 14336)
    assert share(MIXTRAL, Layout(2)).ffn == 7168
    for layout in (Layout(8), Layout(8, whole=True), Layout(2, groups=4, whole=True)):
        one = share(FINE, layout)
        weights = [part.weights for part in one.blocks[0] if hasattr(part, "active")]
        assert weights == [128 * 3 * 2048 * 768 // 8]  # an eighth of all experts, however they are shared
    assert active(share(FINE, Layout(1, groups=8, whole=True))) == 8 and active(share(FINE, Layout(8, whole=True))) == 1


@pytest.mark.parametrize(
    ("model", "layout", "words"),
    [
        (LLAMA, {"tensor": 2, "whole": True}, "no experts"), (MIXTRAL, {"groups": 3, "whole": True}, "evenly"),
        (MIXTRAL, {"groups": 8, "whole": True}, "evenly"),
        (LLAMA, {"stages": 33}, "too few"), (MIXTRAL, {"groups": 2}, "needs `experts` too"),
    ],
)  # fmt: skip
def test_what_can_not_be_dealt_is_refused(model, layout, words):
    with pytest.raises(BadValue, match=words):
        share(model, Layout(**layout))


def test_sums_and_sendings_of_a_step():
    assert sums(LLAMA, Layout()) == 0 and sums(LLAMA, Layout(4)) == 64 and sendings(LLAMA, Layout(4)) == 0
    groups = Layout(2, groups=4, whole=True)
    assert sums(FINE, groups) == 4 and sendings(FINE, groups) == 4  # after attention a sum, and tokens go to their experts and back
    assert sums(FINE, Layout(8, whole=True)) == 8 and sendings(FINE, Layout(8, whole=True)) == 0
    assert sums(MIXTRAL, groups) == 32 and sendings(MIXTRAL, groups) == 32


def test_a_stage_has_its_layers():
    assert stage(LLAMA, 3).layers == 11 and stage(LLAMA, 1) is LLAMA and len(stage(FINE, 2).blocks) == 2


def test_a_dealt_step_waits_for_the_busiest_part():
    one, four = table(), DealtSteps(table(), 4, hand=0.5, hand_token=0.001)
    assert one.seconds(8, 0.0) == pytest.approx(1.08)
    assert four.seconds(8, 0.0) == pytest.approx(1.02 + 0.5 + 0.002)  # two sequences for each
    assert four.pieces([(100, 0)]) == [(100, 0)] and four.pieces([(100, 7)] * 4) == [(100, 7)]
    assert four.pieces([(100, 0)] * 6) == [(100, 0), (50, 0)]  # more than one for each: an even share
    assert four.seconds(0, 0.0, [(100, 0)] * 4, 4) == pytest.approx(2.0 + 0.5 + 0.1)


def test_a_piece_is_no_longer_than_its_part_takes():
    """Two prompts of 300 tokens in pieces of 100: three steps with a piece of each, one second and a hundredth per token each."""
    requests = [Request(0.0, 300, 1), Request(0.0, 300, 1)]
    out = serve(requests, table(), 1000, Policy(most=8, budget=400, piece=100))
    assert out.first == pytest.approx((9.0, 9.0))
    out = serve(requests, table(), 1000, Policy(most=8, budget=400))
    assert out.first == pytest.approx((5.0, 8.0))  # 300 and 100 of the next, then the other 200


def test_a_factor_makes_all_of_a_step_longer():
    from dataclasses import replace

    assert replace(table(), factor=1.5).seconds(8, 0.0) == pytest.approx(1.5 * 1.08)
