"""The simulator's parts, every figure of which can be counted on paper: pool, batch, outcome, promise, laws of lengths, refusals."""

import math
from dataclasses import replace

import pytest

from ironlaw.engine.serving.llm.batch import Batch, Job
from ironlaw.engine.serving.llm.cache import (
    CacheShape,
    Paging,
    contiguous,
    grouped,
    latent,
    multi_head,
    multi_query,
    paged,
    pool_blocks,
    slots,
)
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.outcome import STEADY, Moment, Outcome, joined
from ironlaw.engine.serving.llm.policy import Policy, Speculation, refill_gain
from ironlaw.engine.serving.llm.pool import Pool, Prefix
from ironlaw.engine.serving.llm.promise import Answer, Promise, fewest
from ironlaw.engine.serving.llm.replica import serve
from ironlaw.engine.serving.llm.replicas import apart, side_by_side
from ironlaw.engine.serving.llm.requests import Quantiles, Request, Spread, alike, arriving, checked, faster
from ironlaw.engine.serving.llm.step_times import Grid, Line, StepTable
from ironlaw.errors import BadValue, UnknownName


def test_a_pool_gives_up_the_oldest_beginning_that_nobody_uses() -> None:
    pool = Pool(10)
    assert (pool.free, pool.used, pool.room) == (10, 0, 10)
    assert pool.take(6) and (pool.free, pool.used) == (4, 6) and not pool.take(5) and pool.free == 4
    pool.keep("a", 2)
    pool.keep("b", 3)
    assert pool.prefixes == {"a": Prefix(2, 1), "b": Prefix(3, 1)} and (pool.room, pool.kept) == (4, 0)
    pool.leave("a")
    assert (pool.room, pool.kept) == (6, 2)
    pool.leave("b")
    assert (pool.room, pool.kept, pool.free) == (9, 5, 4)
    assert pool.use("a") == 2 and (pool.kept, pool.prefixes["a"].users) == (3, 1) and list(pool.prefixes) == ["b", "a"]
    assert pool.use("a") == 2 and (pool.kept, pool.prefixes["a"].users) == (3, 2) and pool.use("c") == 0
    assert pool.take(5) and (pool.free, pool.kept, list(pool.prefixes)) == (2, 0, ["a"])  # b was given up, a is in use
    pool.give(4)
    assert pool.free == 6 and not pool.take(7)
    pool.leave("a")
    assert pool.kept == 0 and pool.prefixes["a"].users == 1


def test_only_as_much_is_given_up_as_is_needed() -> None:
    pool = Pool(6)
    assert pool.take(6)
    for name, blocks in (("a", 1), ("b", 2), ("c", 3)):
        pool.keep(name, blocks)
        pool.leave(name)
    assert pool.take(1) and (list(pool.prefixes), pool.kept, pool.free) == (["b", "c"], 5, 0)
    assert pool.take(2) and (list(pool.prefixes), pool.kept, pool.free) == (["c"], 3, 0)
    pool.give(1)
    assert pool.take(1) and list(pool.prefixes) == ["c"]  # as many as are free: nothing is given up
    other = Pool(4)
    assert other.take(3)
    for name in ("a", "b", "c"):
        other.keep(name, 1)
        other.leave(name)
    assert other.take(2) and (list(other.prefixes), other.free) == (["b", "c"], 0)  # one was free
    assert other.take(2) and (other.prefixes, other.free, other.kept) == ({}, 0, 0)


def job(place: int, done: int, out: int) -> Job:
    return Job(place, Request(0.0, done, out + 1), 0, out, done)


def test_a_batch_of_two() -> None:
    """Blocks of four: the first holds 7 tokens and needs a block in its second step, the other 8 and needs one at once."""
    batch = Batch(4)
    first, second = job(0, 7, 5), job(1, 8, 3)
    batch.join(first, 5)
    batch.join(second, 3)
    assert (batch.rows, batch.live, batch.contexts, batch.growth) == (2, 2, 15, 2.0)
    assert batch.need == 1 and [batch.needs_after(n) for n in range(6)] == [0, 1, 1, 1, 2, 3]
    assert batch.ticks_left() == 3 and batch.tokens(first) == 7
    assert batch.advance(2, False) == [] and (batch.contexts, batch.tokens(first), batch.ticks_left()) == (19.0, 9, 1)
    assert batch.advance(1, False) == [second] and (batch.rows, batch.live, batch.contexts, batch.growth) == (1, 1, 10.0, 1.0)
    assert batch.stop(first) == 10 and (batch.rows, batch.live, batch.contexts, batch.growth) == (0, 0, 0.0, 0.0)
    assert (first.out, first.joined, first.last) == (2, -1, -1) and batch.needs == [0] * 4
    batch.join(second, 2)
    assert batch.ticks_left() == 2  # the stopped one's end is stale


def test_an_end_that_is_stale_hides_nobody() -> None:
    """The first is stopped after a step and joins again, for three; the second is done when the first would have been."""
    batch = Batch(4)
    first, second = job(0, 4, 2), job(1, 4, 2)
    batch.join(first, 2)
    batch.join(second, 2)
    assert batch.advance(1, False) == [] and batch.stop(first) == 5 and first.out == 1
    first.done, first.out = 5, 3
    batch.join(first, 3)
    assert batch.advance(1, False) == [second] and (batch.live, batch.rows, batch.growth) == (1, 1, 1.0)
    assert second.joined == -1 and batch.ticks_left() == 2
    assert batch.advance(2, False) == [first] and (batch.live, batch.growth, batch.contexts) == (0, 0.0, 0.0)


def test_a_job_that_has_not_begun() -> None:
    fresh = Job(3, REQUESTS[0], 10, 5)
    assert (fresh.done, fresh.held, fresh.prefix, fresh.shared, fresh.joined, fresh.last) == (0, 0, "", 0, -1, 0)
    assert fresh.since == -1.0 and not fresh.swapped


def test_a_static_batch_keeps_its_rows_until_it_is_cleared() -> None:
    batch = Batch(4)
    batch.join(job(0, 4, 1), 1)
    batch.join(job(1, 4, 6), 3)
    assert batch.growth == 3.0  # one a step, and two where a guess is right
    assert len(batch.advance(1, True)) == 1 and (batch.rows, batch.live, batch.contexts, batch.growth) == (2, 1, 11.0, 2.0)
    batch.clear()
    assert (batch.rows, batch.contexts, batch.growth, batch.needs) == (0, 0.0, 0.0, [0] * 4)


REQUESTS = (Request(1.0, 10, 1), Request(2.0, 10, 3), Request(4.0, 10, 5))
OUTCOME = Outcome(
    REQUESTS, (2.0, 4.0, 5.0), (2.0, 6.0, 11.0), ((1.0, 4.0), (2.0, 2.0)),
    (Moment(1.0, 2.0, 1, 0, 20, 3, 0, 1.5), Moment(3.0, 6.0, 4, 2, 0, 6, 1, 2.0), Moment(9.0, 2.0, 2, 1, 10, 5, 0, 1.0)), 8, 2, 5, 1,
)  # fmt: skip


def test_an_outcome_of_three_requests() -> None:
    out = OUTCOME
    assert (out.waits, out.times) == ((1.0, 1.0, 2.0), (1.0, 4.0, 7.0)) and out.mean_time == 4.0
    assert (out.tokens, out.span, out.throughput, out.rate) == (9, 10.0, 0.9, 0.3)
    assert (out.ttft(0.5), out.ttft(0.9)) == (1.0, 2.0)
    assert [out.tbt(p) for p in (0.1, 0.66, 0.67, 0.99)] == [1.0, 1.0, 2.0, 2.0]
    assert [out.tpot(p) for p in (0.5, 0.51)] == [1.0, 1.5]  # 2 s for two tokens, 6 s for four; one token has no time between
    assert (out.in_system, out.busy, out.steps, out.peak) == (pytest.approx(1.7), 1.0, 7, 0.75)
    assert out.batch == pytest.approx((2 * 4 + 1 * 2) / 6)
    assert [out.kept(*promise) for promise in ((2.0, 1.5), (1.0, 9.0), (2.0, 1.0), (0.5, 9.0))] == [3, 2, 2, 0]
    assert out.goodput(2.0, 1.0) == 0.2
    assert Outcome(REQUESTS[:1], (2.0,), (2.0,), (), OUTCOME.moments[:1], 8).tbt(0.9) == 0.0
    assert Outcome(REQUESTS[:1], (2.0,), (2.0,), (), OUTCOME.moments[:1], 8).batch == 0.0


def paced(start: float, lasts: float) -> Outcome:
    """Eleven requests a second apart; half a second to the first token, four more evenly until it leaves."""
    requests = tuple(Request(start + i, 10, 5) for i in range(11))
    first, leave = (tuple(r.arrive + after for r in requests) for after in (0.5, lasts))
    return Outcome(requests, first, leave, ((0.1, 44.0),), OUTCOME.moments, 8)


@pytest.mark.parametrize("lasts", [1.0, 1.25, 1.5])
def test_tokens_a_second_while_requests_keep_coming(lasts: float) -> None:
    """Between the second arrival and the last: nine answers' worth of tokens in nine seconds, whichever of them lie across the ends."""
    assert paced(100.0, lasts).tokens_per_s == pytest.approx(5.0)
    assert paced(100.0, lasts).throughput == pytest.approx(55 / (10 + lasts))


def test_answers_that_last_long_are_counted_over_the_whole_run() -> None:
    long = 9.0 / STEADY
    assert paced(100.0, long * 1.001).tokens_per_s == paced(100.0, long * 1.001).throughput
    assert paced(100.0, long * 0.999).tokens_per_s != paced(100.0, long * 0.999).throughput
    at_once = Outcome(REQUESTS, (1.0, 2.0, 4.0), (1.0, 2.0, 4.0), (), OUTCOME.moments, 8)
    assert at_once.tokens_per_s == pytest.approx(at_once.throughput if STEADY * at_once.mean_time > 3 else 3 / 3.0)


def test_two_outcomes_side_by_side() -> None:
    second = Outcome(REQUESTS[:1], (3.0,), (3.0,), ((0.5, 1.0),), OUTCOME.moments[:1], 4, 1, 1, 1)
    both = joined((OUTCOME, second), ((0, 2, 3), (1,)))
    assert both.requests == (REQUESTS[0], REQUESTS[0], *REQUESTS[1:]) and both.first == (2.0, 3.0, 4.0, 5.0)
    assert both.leave == (2.0, 3.0, 6.0, 11.0) and both.gaps == (*OUTCOME.gaps, (0.5, 1.0))
    assert (both.blocks, both.preempted, both.reused, both.replicas, len(both.moments)) == (12, 3, 6, 2, 4)
    assert both.moments == tuple(sorted(both.moments)) and both.busy == pytest.approx(12 / 20) and both.peak == 1.0


def test_a_promise_is_broken_by_the_times_or_by_the_cache() -> None:
    assert Promise(2.0, 2.0).broken(OUTCOME) == () and Promise(1.9, 2.0).broken(OUTCOME) == ("ttft",)
    assert Promise(2.0, 1.9).broken(OUTCOME) == ("tbt",) and Promise(1.0, 1.0).broken(OUTCOME) == ("ttft", "tbt")
    assert Promise(2.0, math.inf, tpot=1.5).broken(OUTCOME) == () and Promise(2.0, math.inf, tpot=1.4).broken(OUTCOME) == ("tpot",)
    assert Promise(2.0, 1.9, tpot=1.4).broken(OUTCOME) == ("tbt", "tpot") and Promise(2.0, 2.0, 0.5, 1.0).broken(OUTCOME) == ()
    assert Promise(1.9, 2.0).binds(OUTCOME) == "cache" and Promise(2.0, 2.0).binds(OUTCOME) == ""
    calm = Outcome(*[getattr(OUTCOME, name) for name in ("requests", "first", "leave", "gaps", "moments", "blocks")])
    many = Outcome(REQUESTS[:1] * 200, (9.0,) * 200, (9.0,) * 200, (), OUTCOME.moments, 8, preempted=2)
    assert Promise(1.0, 1.0).binds(many) == "ttft"  # one in a hundred made room: not yet the cache
    assert Promise(1.0, 1.0).binds(calm) == "ttft and tbt" and Promise(1.0, 1.0, 0.6).binds(calm) == ""


@pytest.mark.parametrize(("needed", "least", "asked"), [(1, 1, [1]), (5, 1, [1, 2, 4, 8, 6, 5]), (5, 3, [3, 6, 4, 5]), (6, 6, [6])])
def test_the_fewest_replicas_are_found_by_doubling_and_halving(needed: int, least: int, asked: list[int]) -> None:
    seen: list[int] = []
    slow = Outcome(*[getattr(OUTCOME, name) for name in ("requests", "first", "leave", "gaps", "moments", "blocks")])
    quick = Outcome(REQUESTS, (1.0, 2.0, 4.0), (1.0, 2.0, 4.0), ((0.1, 6.0),), OUTCOME.moments, 8)

    def run(count: int) -> Outcome:
        seen.append(count)
        return quick if count >= needed else slow

    found = fewest(run, Promise(0.5, 0.5), 12, least)
    before = "" if needed == 1 else "work" if needed == least else "ttft and tbt"
    assert found == Answer(needed, quick, before) and seen == asked
    assert fewest(run, Promise(0.5, 0.5), needed - 1 if needed > least else 0, least) is None


def test_draws_are_the_same_everywhere() -> None:
    drawn = arriving(10.0, 3, Spread(100, 1.0), Spread(20, 0.5), seed=3)
    assert [(r.prompt, r.output, r.prefix, r.shared) for r in drawn] == [(34, 24, "", 0), (95, 12, "", 0), (87, 13, "", 0)]
    assert [r.arrive for r in drawn] == pytest.approx([0.1337573411503899, 0.22373326345097735, 0.3240390972105249])
    common = arriving(10.0, 2, Spread(100), Spread(0.2), seed=3, prefix=7)
    assert [(r.prompt, r.output, r.prefix, r.shared) for r in common] == [(107, 1, "system", 7)] * 2
    assert Quantiles((0.0, 0.5, 1.0), (1, 101, 301)).draw(4, 4) == (87, 258, 245, 99)
    assert (Request(0.0, 1, 1).prefix, Request(0.0, 1, 1).shared) == ("", 0) and min(Spread(2.0, 2.0).draw(1, 50)) == 1
    assert Spread(2e6, 3.0).draw(1, 4) == (600_409, 88_959, 14_238, 1_000_000)
    assert [Speculation(4, 0.7).steps(100, 0, place) for place in range(4)] == [31, 39, 39, 38]
    assert Speculation(4, 0.7).steps(100, 1, 0) == 37
    assert Speculation(2, 0.5).mean == 1.75 and Policy(speculation=Speculation(2, 0.5)).reach == 3 and Policy().reach == 1


def test_what_policies_reserve() -> None:
    assert Policy(preemption="swap").preemption == "swap" and Policy().preemption == "recompute"
    assert not Policy().reserves and Policy(scheduling="static").reserves and Policy(speculation=Speculation(2, 0.5)).reserves
    assert Policy(most=64, budget=64).budget == 64 and Policy(most=64, budget=32, chunked=False).budget == 32
    assert Policy(most=64, budget=32, scheduling="static").budget == 32


def test_a_small_decoder() -> None:
    toy = Decoder("toy", 100, 2, 16, 4, 2, 8, 32)
    attention, mlp = 16 * (2 * 32 + 2 * 16), 3 * 16 * 32
    assert toy.matrices == 2 * (attention + mlp) + 1600 and toy.parameters == toy.matrices + 1600 + 2 * 32 + 16
    tied = Decoder("toy", 100, 2, 16, 4, 2, 8, 32, tied=True, qkv_bias=True)
    assert tied.matrices == 2 * (attention + mlp) and tied.parameters == tied.matrices + 1600 + 2 * (32 + 64) + 16
    mixed = Decoder("toy", 100, 2, 16, 4, 2, 8, 32, experts=4, top_k=2)
    assert mixed.matrices == 2 * (attention + 4 * mlp + 64) + 1600
    assert toy.cache() == CacheShape(2, 2, 16) and toy.cache("fp8").token_bytes == 64
    half, quarter = toy.shard(2), toy.shard(4)
    assert toy.shard(1) is toy and (half.vocab, half.heads, half.kv_heads, half.ffn, half.hidden) == (50, 2, 1, 16, 16)
    assert isinstance(half.kv_heads, int) and Decoder("d", 9, 1, 6, 6, 6, 1, 6).shard(3).kv_heads == 2
    assert (quarter.heads, quarter.kv_heads, quarter.vocab, quarter.ffn) == (1, 1, 25, 8)


def test_shapes_of_caches() -> None:
    assert multi_head(2, 4, 8) == CacheShape(2, 4, 16) and grouped(2, 4, 2, 8, "fp8") == CacheShape(2, 2, 16, "fp8")
    assert multi_query(2, 8) == CacheShape(2, 1, 16) and latent(2, 32, 4, "fp8") == CacheShape(2, 1, 36, "fp8")
    assert CacheShape(2, 3, 16).shard(2) == CacheShape(2, 2, 16) and CacheShape(2, 4, 16, "fp8").token_bytes == 128
    assert paged([], 4).share_used == 1.0 and paged([3, 5], 4).share_used == 8 / 12 and contiguous([3, 5], 8) == Paging(8, 8)
    assert pool_blocks(1000.0, CacheShape(2, 2, 16), 2) == 3 and slots(1000.0, CacheShape(2, 2, 16), 3, 2) == 1


class Step:
    """As long whatever it holds."""

    def __init__(self, length=1.0):
        self.length = length

    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return self.length


def test_two_requests_step_by_step() -> None:
    """A second a step. The first prompt takes one, then both decode together; side by side each has a replica of its own."""
    pair = (Request(0.0, 4, 3), Request(0.5, 4, 2))
    out = serve(pair, Step(), 9, Policy(most=2, budget=8, block=4))
    assert (out.first, out.leave) == ((1.0, 2.0), (3.0, 3.0)) and out.gaps == ((1.0, 1.0), (1.0, 2.0))
    assert out.moments == (Moment(0.0, 1.0, 1, 0, 4, 1, 0, 1.5), Moment(1.0, 1.0, 1, 1, 4, 3, 0, 2.0), Moment(2.0, 1.0, 1, 2, 0, 4, 0, 2.0))
    each = side_by_side(pair, Step(), 9, Policy(most=2, budget=8, block=4), 2)
    assert (each.first, each.leave, each.replicas, each.blocks) == ((1.0, 1.5), (3.0, 2.5), 2, 18)
    more = side_by_side(pair, Step(), 9, Policy(most=2, budget=8, block=4), 3)
    assert (more.leave, more.replicas, more.blocks) == (each.leave, 3, 27)


def test_the_youngest_makes_room_and_computes_again() -> None:
    """Blocks of four, four of them; two prompts of four, six tokens each. At 5 s both need a third block: the second request gives up its
    two and waits. The first leaves at 6; the nine tokens of the other are computed anew, and its last one comes at 7."""
    pair = (Request(0.0, 4, 6), Request(0.0, 4, 6))
    out = serve(pair, Step(), 4, Policy(most=2, budget=16, block=4), swap=0.25)
    assert (out.first, out.leave, out.preempted) == ((1.0, 1.0), (6.0, 7.0), 1)
    assert sum(m.prompt for m in out.moments) == 8 + 9 and sorted(out.gaps)[-1] == (2.0, 1.0)
    assert sum(count for _, count in out.gaps) == 10 and out.peak == 1.0
    assert [(m.at, m.seconds, m.batch, m.used, m.waiting) for m in out.moments][-2:] == [(5.0, 1.0, 1, 3, 1), (6.0, 1.0, 0, 3, 0)]


def test_the_youngest_makes_room_and_comes_back_from_the_host() -> None:
    """A quarter of a second a block: two on their way out make the sixth step 1.5 s long, two on their way back the next one."""
    pair = (Request(0.0, 4, 6), Request(0.0, 4, 6))
    out = serve(pair, Step(), 4, Policy(most=2, budget=16, block=4, preemption="swap"), swap=0.25)
    assert (out.first, out.leave, out.preempted) == ((1.0, 1.0), (6.5, 8.0), 1)
    assert sum(m.prompt for m in out.moments) == 8 and sorted(out.gaps)[-1] == (3.0, 1.0)


def test_whole_blocks_of_a_common_beginning_are_shared() -> None:
    """Eight tokens alike: one block of four, since the last token of a prompt is always computed."""
    pair = (Request(0.0, 8, 2, "system", 8), Request(5.0, 8, 2, "system", 8))
    out = serve(pair, Step(), 9, Policy(most=2, budget=16, block=4, sharing=True))
    assert out.reused == 4 and [m.prompt for m in out.moments if m.prompt] == [8, 4]


def test_who_arrives_in_a_step_is_inside_for_the_rest_of_it() -> None:
    out = serve((Request(0.0, 4, 2), Request(0.5, 4, 2)), Step(2.0), 9, Policy(most=2, budget=8, block=4))
    assert [(m.at, m.seconds, m.inside) for m in out.moments] == [(0.0, 2.0, 1.75), (2.0, 2.0, 2.0), (4.0, 2.0, 1.0)]
    idle = serve((Request(0.0, 4, 1), Request(7.0, 4, 3)), Step(2.0), 9, Policy(most=2, budget=8, block=4))
    assert (idle.first, idle.leave) == ((2.0, 9.0), (2.0, 13.0)) and idle.gaps == ((2.0, 1.0), (2.0, 1.0))


def test_each_replica_guesses_by_a_seed_of_its_own() -> None:
    requests = [Request(0.1 * i, 4, 30 + i) for i in range(8)]
    policy = Policy(most=4, budget=32, speculation=Speculation(2, 0.5))
    both = side_by_side(requests, Step(), 99, policy, 2, seed=5)
    alone = [serve(requests[k::2], Step(), 99, policy, seed=5 + k) for k in (0, 1)]
    assert both.leave == tuple(alone[i % 2].leave[i // 2] for i in range(8))
    assert side_by_side(requests, Step(), 99, policy, 2) == side_by_side(requests, Step(), 99, policy, 2, seed=0) != both


def test_blocks_that_move_to_the_host_take_their_time() -> None:
    requests = [Request(0.0, 4, 12) for _ in range(4)]
    policy = Policy(most=4, budget=16, block=4, preemption="swap")
    still, slow = (apart(requests, Step(), 9, policy, prompts=1, decoders=1, move=0.0, swap=swap) for swap in (0.0, 0.5))
    assert apart(requests, Step(), 9, policy, prompts=1, decoders=1, move=0.0) == still
    assert still.preempted > 0 and max(slow.leave) > max(still.leave)
    assert sum(m.prompt for m in still.moments) == 16 and list(still.moments) == sorted(still.moments)


def test_prompts_on_devices_of_their_own() -> None:
    """The caches of four tokens move in two seconds: the first is there at 3, the other at 4, each then decodes a token a second."""
    pair = (Request(0.0, 4, 3), Request(0.5, 4, 2), Request(0.6, 4, 1))
    out = apart(pair, Step(), 9, Policy(most=2, budget=4, block=4), prompts=1, decoders=1, move=0.5)
    assert (out.first, out.leave) == ((1.0, 2.0, 3.0), (5.0, 5.0, 3.0)) and (out.replicas, out.blocks) == (2, 18)


@pytest.mark.parametrize(
    ("ask", "field", "words"),
    [
        (lambda: Policy(most=0), "most", "^most is 0; give a whole number of at least 1$"),
        (lambda: Policy(block=0), "block", "^block is 0;"),
        (lambda: Policy(budget=0, chunked=False), "budget", "^budget is 0;"),
        (
            lambda: Policy(most=64, budget=63),
            "budget",
            "^a budget of 63 tokens per step is less than 64 sequences take .*; raise it to 64, or",
        ),
        (lambda: Policy(most=64, budget=64, speculation=Speculation(1, 0.5)), "budget", "raise it to 128, or lower the sequences$"),
        (lambda: Speculation(0, 0.5), "speculated tokens", "^speculated tokens is 0;"),
        (lambda: Speculation(2, -0.1), "acceptance", "^the acceptance is -0.1; give a share between 0 and 1$"),
        (lambda: Speculation(2, 1.1), "acceptance", "^the acceptance is 1.1;"),
        (lambda: checked([]), "requests", "^no request arrives; give at least one$"),
        (lambda: checked([Request(-1.0, 1, 1)]), "requests", "^request 1 arrives at -1.0, before the one ahead of it; sort them"),
        (lambda: checked([Request(2.0, 1, 1), Request(1.0, 1, 1)]), "requests", "^request 2 arrives at 1.0,"),
        (lambda: checked([Request(float("inf"), 1, 1)]), "requests", "^request 1 arrives at inf"),
        (lambda: checked([Request(0.0, 1, 0)]), "requests", "^request 1 has output 0; give a whole number of tokens, at least 1$"),
        (lambda: checked([Request(0.0, 1.5, 1)]), "requests", "^request 1 has prompt 1.5;"),
        (lambda: checked([Request(0.0, 2, 1, "a", 3)]), "requests", "^request 1 shares 3 of 2 prompt tokens; give at most all of them$"),
        (lambda: checked([Request(0.0, 2, 1, "a", -1)]), "requests", "^request 1 shares -1 of 2"),
        (lambda: alike([Request(0.0, 1, 1)], 0), "tokens", "^tokens is 0;"),
        (lambda: arriving(1.0, 0, Spread(1), Spread(1)), "n", "^n is 0;"),
        (lambda: arriving(0.0, 1, Spread(1), Spread(1)), "", "^rate is 0.0;"),
        (lambda: Spread(0.0).draw(1, 1), "", "^mean length is 0.0;"),
        (lambda: Spread(1.0, -1.0).draw(1, 1), "", "^spread of lengths is -1.0;"),
        (lambda: faster([Request(0.0, 1, 1)], 0.0), "", "^factor is 0.0;"),
        (lambda: Quantiles((0.0, 1.0), (1,)), "", "^quantiles need shares from 0 to 1 that rise, and as many values that do not fall$"),
        (lambda: Quantiles((0.0,), (1,)), "", "^quantiles need"),
        (lambda: Quantiles((0.0, 0.5), (1, 2)), "", "^quantiles need"),
        (lambda: Quantiles((0.1, 1.0), (1, 2)), "", "^quantiles need"),
        (lambda: Quantiles((0.0, 0.5, 0.5, 1.0), (1, 2, 3, 4)), "", "^quantiles need"),
        (lambda: Promise(0.0, 1.0), "", "^promised time to first token is 0.0;"),
        (lambda: Promise(1.0, 0.0), "", "^promised time between tokens is 0.0;"),
        (lambda: Promise(1.0, 1.0, tpot=-1.0), "", "^promised mean time per token is -1.0;"),
        (lambda: Promise(1.0, 1.0, 1.0), "share", "^the SLO's share is 1.0; give one between 0 and 1, such as 0.99$"),
        (lambda: Promise(1.0, 1.0, 0.0), "share", "^the SLO's share is 0.0;"),
        (lambda: OUTCOME.tbt(0.0), "p", "^the quantile is 0.0; give a share between 0 and 1, such as 0.99$"),
        (lambda: grouped(1, 4, 3, 1), "groups", "^4 heads can't share 3 key-value heads evenly; give a divisor of 4$"),
        (lambda: contiguous([9], 8), "longest", "^a request of 9 tokens where at most 8 are kept; raise the longest$"),
        (lambda: Decoder("d", 1, 0, 1, 1, 1, 1, 1), "d: layers", "^d: layers is 0;"),
        (lambda: Decoder("d", 1, 1, 1, 1, 1, 1, 1, top_k=1), "", "^d: top_k is 1 of 0 experts; give at most 0$"),
        (
            lambda: Decoder("d", 1, 1, 1, 4, 4, 1, 6).shard(4),
            "devices",
            "^d has 6 columns of the feed-forward, which 4 devices can't share",
        ),
        (
            lambda: Decoder("d", 1, 1, 1, 6, 2, 1, 8).shard(4),
            "devices",
            "^d has 6 heads, which 4 devices can't share evenly; give a divisor$",
        ),
        (lambda: Decoder("d", 1, 1, 1, 6, 2, 1, 8).shard(0), "devices", "^devices is 0;"),
        (lambda: Decoder("d", 1, 1, 1, 6, 2, 1, 6).shard(3), "devices", "^d has 2 key-value heads, which 3 devices can't share evenly$"),
        (
            lambda: serve([Request(0.0, 30, 3)], Step(), 2, Policy(most=1)),
            "requests",
            "^request 1 holds 33 tokens .* room for 32; give it more",
        ),
        (lambda: side_by_side(REQUESTS, Step(), 9, Policy(), 0), "replicas", "^replicas is 0;"),
        (lambda: apart(REQUESTS, Step(), 9, Policy(), prompts=0, decoders=1, move=0.0), "replicas", "^replicas is 0;"),
        (lambda: apart(REQUESTS, Step(), 9, Policy(), prompts=1, decoders=0, move=0.0), "replicas", "^replicas is 0;"),
    ],
)
def test_the_setting_that_is_refused_is_named(ask, field: str, words: str) -> None:
    with pytest.raises(BadValue, match=words) as refused:
        ask()
    assert (refused.value.field or "") == field


def test_an_unknown_schedule_is_refused_with_the_setting() -> None:
    for field in ("scheduling", "preemption"):
        with pytest.raises(UnknownName, match=f"^no {field} 'some'") as refused:
            Policy(**{field: "some"})
        assert refused.value.field == field


def test_a_step_adds_up_its_parts() -> None:
    """A launch of 1, a hundredth a token, a tenth a row of the head, attention by batch and context, chunks over what came before."""
    table = StepTable(
        1.0, Line((1.0, 101.0), (0.01, 1.01)), Line((1.0, 11.0), (0.1, 1.1)), Grid((1.0, 2.0), (0.0, 100.0), ((0.0, 1.0), (0.0, 2.0))),
        Grid((0.0, 100.0), (0.0, 100.0), ((0.5, 0.5), (1.5, 2.5))), 0.5,
    )  # fmt: skip
    assert table.basis == "bound"
    assert table.seconds(2, 100) == pytest.approx(1 + 0.02 + 0.2 + 1.0)
    assert table.seconds(2, 100, each=3) == pytest.approx(1 + 0.06 + 0.6 + 1.0)
    assert table.seconds(0, 0, [(50, 0)]) == pytest.approx(1 + 0.5 + 0.1 + 1.0)  # the head has a row at least
    assert table.seconds(0, 0, [(50, 0), (50, 100)], 2) == pytest.approx(1 + 1.0 + 0.2 + 1.0 + 1.0)  # the floor is paid once
    assert table.seconds(2, 100, [(50, 0)], 1) == pytest.approx(1 + 0.52 + 0.3 + 1.0 + 1.0)
    assert table.seconds(0, 0, [(0, 0)]) == pytest.approx(1 + 0.0 + 0.1 + 0.5)
    apart = replace(table, reads=5.0, kept=25.0)  # each of five heads reads for itself the three quarters that do not stay
    assert apart.seconds(2, 100) == table.seconds(2, 100) and apart.seconds(2, 20, [(50, 0)]) == table.seconds(2, 20, [(50, 0)])
    assert apart.seconds(2, 100, [(50, 0)], 1) - table.seconds(2, 100, [(50, 0)], 1) == pytest.approx(4 * 0.75 * 1.0)


def test_refilled_places_against_batches_that_wait_for_their_longest() -> None:
    """Lengths even between 0 and 6: the larger of two is 4 on average, the largest of five is 5; one alone is 3."""
    even = Quantiles((0.0, 0.5, 1.0), (0.0, 3.0, 6.0))
    assert (refill_gain(even, 2), refill_gain(even, 5), refill_gain(even, 1)) == (pytest.approx(4 / 3), pytest.approx(5 / 3), 1.0)
    alike, two_kinds = Quantiles((0.0, 1.0), (4.0, 4.0)), Quantiles((0.0, 0.5, 0.5 + 1e-9, 1.0), (1.0, 1.0, 3.0, 3.0))
    assert refill_gain(alike, 2) == pytest.approx(1.0)
    assert refill_gain(two_kinds, 2) == pytest.approx(2.5 / 2)  # three times in four one of them is long
    with pytest.raises(BadValue):
        refill_gain(even, 0)


def test_lengths_that_are_dealt_have_the_laws_mean_in_any_order() -> None:
    law = Spread(200.0, 1.0)
    one, other = law.dealt(1, 500), law.dealt(2, 500)
    assert one != other and sorted(one) == sorted(other)
    assert sum(one) / 500 == pytest.approx(200.0, rel=0.01) and sorted(one)[250] == pytest.approx(200 / 2**0.5, rel=0.01)
    assert Spread(200.0).dealt(1, 3) == (200, 200, 200)
