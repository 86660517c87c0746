"""The simulator: nothing is lost, memory and order are kept, and simple cases equal formulas and a simulation step by step."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.engine.serving.llm.replica import Replica, serve
from ironlaw.engine.serving.llm.replicas import apart, first_tokens, side_by_side
from ironlaw.engine.serving.llm.requests import Quantiles, Request, Spread, alike, arriving, faster
from ironlaw.engine.serving.llm.residence import inside
from ironlaw.engine.serving.queues import md1
from ironlaw.errors import BadValue

ROOM = 4000


class Cost:
    """Seconds by what a step holds."""

    def __init__(self, start=5e-3, token=2e-5, context=0.0):
        self.start, self.token, self.context = start, token, context

    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return self.start + self.token * (batch * each + sum(n for n, _ in chunks)) + self.context * contexts


def load(n=300, rate=20.0, prompt=200, output=40, seed=1, prefix=0):
    return arriving(rate, n, Spread(prompt, 1.0), Spread(output, 1.0), seed, prefix)


loads = st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 90), st.integers(1, 30)), min_size=1, max_size=25)
policies = st.builds(
    Policy, scheduling=st.sampled_from(["continuous", "continuous", "static"]), most=st.integers(1, 9), budget=st.integers(50, 200),
    chunked=st.booleans(), block=st.sampled_from([1, 4, 16]), preemption=st.sampled_from(["recompute", "swap"]), sharing=st.booleans(),
    speculation=st.sampled_from([None, None, Speculation(3, 0.6)]), kept=st.sampled_from([0.0, 0.0, 0.1, 1.0]),
)  # fmt: skip


def requests_of(sizes):
    at, requests = 0.0, []
    for gap, prompt, output in sizes:
        at += gap
        requests.append(Request(at, prompt, output, "p", prompt // 2))
    return requests


@given(loads, policies, st.sampled_from([128, 200, 1000]))
def test_tokens_memory_and_order_are_kept(sizes, policy, tokens):
    requests = requests_of(sizes)
    total = tokens // policy.block
    run = Replica(requests, Cost(context=1e-6), total, policy, 1e-4, 0, False)
    out = run.run()
    for r, first, leave in zip(requests, out.first, out.leave, strict=True):
        assert r.arrive < first <= leave and (first < leave or r.output == 1)
    assert sum(count for _, count in out.gaps) == pytest.approx(sum(r.output - 1 for r in requests))
    assert all(seconds >= -1e-12 and count >= -1e-9 for seconds, count in out.gaps)
    assert all(0 <= m.used <= total for m in out.moments)
    room = run.room
    kept = sum(p.blocks for p in room.pool.prefixes.values())
    assert room.pool.used - room.granted == kept == room.pool.kept and not room.active and not room.waiting
    if not out.preempted:
        assert list(out.first) == sorted(out.first)
    assert sum(m.prompt for m in out.moments) + out.reused >= sum(r.prompt for r in requests)
    assert out.in_system == pytest.approx(out.rate * out.mean_time, rel=0.02)
    again = serve(requests, Cost(context=1e-6), total, policy, swap=1e-4)
    assert (again.first, again.leave, again.gaps) == (out.first, out.leave, out.gaps)


@given(loads, policies, st.sampled_from([128, 200, 1000]))
def test_whoever_is_in_the_cache_holds_what_is_used_of_it(sizes, policy, tokens):
    """The stays against the pool's own count, which knows nothing of them."""
    policy = replace(policy, sharing=False)
    out = serve(requests_of(sizes), Cost(context=1e-6), tokens // policy.block, policy, swap=1e-4)
    assert {stay.place for stay in out.stays} == set(range(len(sizes))) and len(out.stays) == len(sizes) + out.preempted
    for m in out.moments:
        there = inside(out.stays, out.moments, m.at, policy.block, policy.reserves)
        held = sum(count for _, count, _ in there)
        ahead = 0 if m.batch or policy.reserves else len(there)  # while prompts go first, decoding has its next blocks already
        assert held <= m.used <= held + ahead, (m, there)
        assert all(in_use <= count * policy.block for _, count, in_use in there)


def one_by_one(requests, cost, most, budget):
    """Continuous batching with chunked prompts and no end of memory, a step at a time."""
    now, waiting, prompts, decoding = 0.0, list(enumerate(requests)), [], {}
    first, leave, left = {}, {}, {i: r.prompt for i, r in enumerate(requests)}
    while len(leave) < len(requests):
        if not prompts and not decoding:
            now = max(now, waiting[0][1].arrive)
        room, chunks = budget - len(decoding), []
        while waiting and waiting[0][1].arrive <= now and len(prompts) + len(decoding) < most and sum(left[i] for i in prompts) < room:
            prompts.append(waiting.pop(0)[0])
        for i in prompts:
            take = min(left[i], room)
            room -= take
            if take:
                chunks.append((i, take))
        now += cost.seconds(len(decoding), sum(decoding.values()), [(n, 0) for _, n in chunks])
        for i in list(decoding):
            decoding[i] += 1
            if decoding[i] == requests[i].prompt + requests[i].output - 1:
                leave[i] = now
                del decoding[i]
        for i, n in chunks:
            left[i] -= n
            if not left[i]:
                first[i] = now
                prompts.remove(i)
                if requests[i].output == 1:
                    leave[i] = now
                else:
                    decoding[i] = requests[i].prompt
    return [first[i] for i in range(len(requests))], [leave[i] for i in range(len(requests))]


@pytest.mark.parametrize(("most", "budget", "seed"), [(4, 64, 1), (16, 256, 2), (3, 1000, 3)])
def test_steps_taken_together_equal_steps_one_by_one(most, budget, seed):
    requests = load(120, 15.0, 100, 30, seed)
    out = serve(requests, Cost(), 10_000, Policy(most=most, budget=budget))
    first, leave = one_by_one(requests, Cost(), most, budget)
    assert out.first == pytest.approx(first) and out.leave == pytest.approx(leave)
    backlog = [r._replace(arrive=0.0) for r in requests]  # no arrival to stop for: contexts that grow are summed exactly
    out = serve(backlog, Cost(context=1e-6), 10_000, Policy(most=most, budget=budget))
    assert out.leave == pytest.approx(one_by_one(backlog, Cost(context=1e-6), most, budget)[1])


def test_one_at_a_time_is_a_queue_with_a_fixed_service():
    requests = arriving(80.0, 6000, Spread(100), Spread(1), seed=7)
    out = serve(requests, Cost(start=0.0, token=1e-4), ROOM, Policy(most=1))
    assert out.mean_time == pytest.approx(md1(80.0, 0.01).mean, rel=0.05)
    assert out.busy == pytest.approx(0.8, rel=0.03)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=60), st.integers(1, 12))
def test_a_backlog_takes_no_more_steps_in_a_continuous_batch(outputs, most):
    backlog = [Request(0.0, 1, n) for n in outputs]
    step = Cost(1.0, 0.0)
    static = serve(backlog, step, 100_000, Policy(scheduling="static", most=most))
    longest = [max(outputs[i : i + most]) for i in range(0, len(outputs), most)]
    assert static.steps == sum(longest)  # the prompt's step brings the first token
    assert serve(backlog, step, 100_000, Policy(most=most)).steps <= static.steps


@pytest.mark.parametrize("seed", range(12))
def test_continuous_batches_are_never_slower_than_static_ones(seed):
    for rate, most in ((2.0, 4), (20.0, 4), (20.0, 32)):
        requests = load(80, rate, 200, 60, seed)
        static = serve(requests, Cost(context=1e-6), 20_000, Policy(scheduling="static", most=most))
        for chunked in (True, False):
            out = serve(requests, Cost(context=1e-6), 20_000, Policy(most=most, chunked=chunked))
            assert out.mean_time <= static.mean_time and out.span <= static.span and out.ttft(0.99) <= static.ttft(0.99)


def test_a_full_cache_preempts_and_loses_nothing():
    requests = load(200, 40.0, 150, 80)
    wide = serve(requests, Cost(), 100_000, Policy())
    for preemption in ("recompute", "swap"):
        out = serve(requests, Cost(), 110, Policy(preemption=preemption), swap=1e-4)
        assert out.preempted > 10 and out.peak > 0.97 and wide.preempted == 0
        assert out.mean_time > wide.mean_time and sum(c for _, c in out.gaps) == sum(r.output - 1 for r in requests)
    recomputed = serve(requests, Cost(), 110, Policy())
    assert sum(m.prompt for m in recomputed.moments) > sum(r.prompt for r in requests) == sum(m.prompt for m in wide.moments)


def test_who_leaves_room_for_answers_stops_nobody():
    """A cache of ten blocks of ten tokens, and requests of 20 and 30: two fit with their answers, five without."""
    requests = [Request(0.0, 20, 30)] * 6
    stopped, kept = (serve(requests, Cost(), 10, Policy(block=10, kept=share)) for share in (0.0, 1.0))
    assert stopped.preempted and not kept.preempted
    assert [sorted(kept.first).index(one) // 2 * 2 for one in kept.first] == [0, 0, 2, 2, 4, 4]  # by twos
    late = [Request(at, 20, 30) for at in (0.0, 0.01, 0.02)]
    none, half = (serve(late, Cost(), 12, Policy(block=10, kept=share)) for share in (0.0, 0.5))
    # the third comes while some 27 tokens each are to come: 50 of its own and half of those are more than the 60 that are free
    assert none.first[2] < 0.05 < half.leave[0] < half.first[2] and half.first[1] < 0.05


def test_prompts_in_pieces_keep_tokens_close_together():
    requests = load(300, 12.0, 1500, 60)
    pieces = serve(requests, Cost(), 100_000, Policy(budget=512))
    whole = serve(requests, Cost(), 100_000, Policy(budget=8192, chunked=False))
    assert pieces.tbt(0.99) < 0.6 * whole.tbt(0.99) and pieces.ttft(0.5) > whole.ttft(0.5)


def test_speculation_saves_steps_as_its_mean_says():
    guess = Speculation(4, 0.7)
    assert guess.mean == pytest.approx(1 + 0.7 + 0.49 + 0.343 + 0.2401)
    requests = [Request(float(i), 10, 1001) for i in range(100)]
    plain = serve(requests, Cost(1e-5, 0.0), 100_000, Policy())
    quick = serve(requests, Cost(1e-5, 0.0), 100_000, Policy(speculation=guess))
    assert (plain.steps - 100) / (quick.steps - 100) == pytest.approx(guess.mean, rel=0.02)
    assert Speculation(3, 1.0).steps(1000, 0, 5) == 250 and Speculation(3, 0.0).steps(1000, 0, 5) == 1000
    assert Speculation(3, 1.0).mean == 4 and Speculation(3, 0.5).steps(10**7, 0, 0) == math.ceil(10**7 / Speculation(3, 0.5).mean)
    slow = serve(requests, Cost(1e-5, 0.0), 100_000, Policy(speculation=replace(guess, draft=Cost(1e-4, 0.0))))
    assert slow.throughput < quick.throughput or slow.tbt(0.99) > 10 * quick.tbt(0.99)


def test_a_common_beginning_is_computed_once():
    requests = load(50, 5.0, 30, 10, prefix=100)
    once = serve(requests, Cost(), ROOM, Policy(sharing=True))
    every = serve(requests, Cost(), ROOM, Policy())
    assert once.reused == 49 * 96 and every.reused == 0  # 96: whole blocks of 16
    assert sum(m.prompt for m in every.moments) - sum(m.prompt for m in once.moments) == once.reused
    assert once.ttft(0.5) < every.ttft(0.5) and max(m.used for m in once.moments) < max(m.used for m in every.moments)


def test_a_shared_beginning_saves_exactly_its_blocks():
    """Prompts of 100 tokens of which 70 are common, one after the other and then all at once: 64 tokens, four blocks, are kept once."""
    first = Request(0.0, 100, 40)
    crowd = [first, *(Request(10.0, 100, 40) for _ in range(9))]
    apart_, together = (serve(alike(crowd, 70), Cost(), ROOM, Policy(sharing=on)) for on in (False, True))
    assert together.reused == 9 * 64 and max(m.used for m in apart_.moments) - max(m.used for m in together.moments) == 8 * 4
    assert sum(m.prompt for m in apart_.moments) - sum(m.prompt for m in together.moments) == 9 * 64
    assert alike([Request(0.0, 70, 1)], 70)[0].prefix == "" and alike([Request(0.0, 71, 1)], 70)[0].shared == 70
    with pytest.raises(BadValue, match="at least 1"):
        alike(crowd, 0)


def test_tokens_a_second_are_demand_or_capacity():
    """Under light load as many as are asked for; under a flood as many as the machine makes: a step of 10 ms for 8 sequences."""
    light = serve(load(3000, 10.0, 100, 30, 3), Cost(), ROOM, Policy())
    asked = sum(r.output for r in light.requests) / light.requests[-1].arrive
    assert light.tokens_per_s == pytest.approx(asked, rel=0.03)
    flood = serve([Request(0.001 * i, 1, 1000) for i in range(80)], Cost(0.01, 0.0), 100_000, Policy(most=8))
    assert flood.tokens_per_s == flood.throughput == pytest.approx(800, rel=0.01)
    at_once = serve([Request(0.0, 1, 100)] * 3, Cost(0.01, 0.0), ROOM, Policy())
    assert at_once.tokens_per_s == pytest.approx(300)


def test_a_rate_leaves_out_the_start_and_the_end():
    """An answer a second, of 4 tokens at 0.1 s each from its arrival on: 4 a second from the tenth request's arrival to the last's."""
    requests = tuple(Request(float(i), 1, 4) for i in range(101))
    out = Outcome(requests, tuple(r.arrive + 0.1 for r in requests), tuple(r.arrive + 0.4 for r in requests), (), ())
    assert out.tokens_per_s == pytest.approx(4.0)
    slow = Outcome(requests, tuple(r.arrive + 0.1 for r in requests), tuple(r.arrive + 50.0 for r in requests), (), ())
    assert slow.tokens_per_s == slow.throughput == 404 / 150


def test_replicas_and_pools_apart():
    requests = load(400, 30.0, 900, 50)
    one, two = (side_by_side(requests, Cost(), 20_000, Policy(), n) for n in (1, 2))
    assert two.ttft(0.99) < one.ttft(0.99) and two.replicas == 2 and two.requests == tuple(requests)
    assert two.in_system == pytest.approx(two.rate * two.mean_time, rel=0.02)
    split = apart(requests, Cost(), 20_000, Policy(), prompts=1, decoders=1, move=1e-7)
    assert split.tbt(0.98) < 0.5 * two.tbt(0.98) and split.requests == tuple(requests)
    assert sum(c for _, c in split.gaps) == sum(r.output - 1 for r in requests)
    assert all(r.arrive < a <= b for r, a, b in zip(requests, split.first, split.leave, strict=True))
    assert first_tokens(requests, Cost(), 20_000, Policy(), 1).first == split.first
    far = apart(requests, Cost(), 20_000, Policy(), prompts=1, decoders=1, move=1e-4)
    assert far.mean_time > split.mean_time and far.first == split.first
    assert side_by_side(requests[:1], Cost(), 100, Policy(block=512), 3).replicas == 3


def test_the_promise():
    out = serve(load(200, 10.0), Cost(), ROOM, Policy())
    assert out.kept(1e9, 1e9) == 200 and out.kept(0, 1) == 0 and out.goodput(1e9, 1e9) == pytest.approx(out.rate)
    middle = out.ttft(0.5)
    assert out.kept(middle, 1e9) == 100 and out.ttft(0.99) >= middle and out.tbt(0.99) >= out.tbt(0.5) > 0
    with pytest.raises(BadValue, match="between 0 and 1"):
        out.tbt(1.0)


def test_laws_of_lengths():
    drawn = Spread(200, 0.8).draw(3, 20_000)
    mean = sum(drawn) / len(drawn)
    spread = math.sqrt(sum((x - mean) ** 2 for x in drawn) / len(drawn)) / mean
    assert mean == pytest.approx(200, rel=0.02) and spread == pytest.approx(0.8, rel=0.05)
    table = Quantiles((0.0, 0.5, 1.0), (1, 101, 301))
    assert table.mean == 126 and sum(table.draw(1, 20_000)) / 20_000 == pytest.approx(126, rel=0.02)
    requests = load(50)
    assert faster(requests, 2.0)[-1].arrive == requests[-1].arrive / 2


BAD = [
    (lambda: serve([], Cost(), 10, Policy()), "at least one"),
    (lambda: serve([Request(1.0, 1, 1), Request(0.5, 1, 1)], Cost(), 10, Policy()), "sort them"),
    (lambda: serve([Request(0.0, 0, 1)], Cost(), 10, Policy()), "prompt 0"),
    (lambda: serve([Request(0.0, 5, 1, "a", 6)], Cost(), 10, Policy()), "shares 6 of 5"),
    (lambda: serve([Request(0.0, 100, 100)], Cost(), 12, Policy()), "200 tokens at its end"),
    (lambda: Policy(most=64, budget=32), "raise it to 64"),
    (lambda: Policy(scheduling="dynamic"), "continuous"),
    (lambda: Policy(preemption="kill"), "recompute"),
    (lambda: Speculation(2, 1.5), "between 0 and 1"),
    (lambda: Quantiles((0.0, 1.0), (5, 4)), "do not fall"),
    (lambda: apart([Request(0.0, 1, 1)], Cost(), 10, Policy(), prompts=1, decoders=1, move=-1), "move"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "words"), BAD)
def test_bad_input_is_refused(wrong, words):
    with pytest.raises((BadValue, LookupError), match=words):
        wrong()
