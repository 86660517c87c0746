"""Where the time of a traced run goes, by hand: every microsecond of a small trace has its reason."""

from dataclasses import replace

import pytest

from ironlaw.cli.show.trace_text import _ranks
from ironlaw.errors import BadValue
from ironlaw.report.kineto import parse
from ironlaw.report.trace_idle import last_to_come, whereabouts


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def launched(number, host, start, dur, name="gemm"):
    """A kernel, and the call that launched it."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", host, 5, correlation=number),
        event("kernel", name, start, dur, correlation=number),
    ]


def us(value):
    return pytest.approx(value / 1e6, abs=1e-12)


def test_every_gap_has_its_reason():
    events = [
        event("cpu_op", "aten::mm", 0, 6),
        *launched(1, 0, 10, 100),  # the device waits 10 for its first launch
        event("cuda_runtime", "cudaStreamSynchronize", 20, 92),  # the host waits until 112, with nothing queued
        *launched(2, 120, 130, 50),  # gap 110 to 130, all because of the wait
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 140, 60),
        *launched(3, 210, 220, 30),  # gap 180 to 220, for the next batch
        *launched(4, 255, 270, 30),  # gap 250 to 270: launching alone
    ]
    (one,) = whereabouts([parse(events)])
    assert one.total == us(300)
    assert (one.computing, one.launching, one.synchronising, one.data) == (us(210), us(10 + 20), us(20), us(40))
    assert one.communicating == one.other_rank == one.hidden == 0 and one.overlap is None


def rank(arrives, number=None):
    """Computes until `arrives`, then a collective that ends at 200 on all ranks; computing hides its last 20."""
    who = {} if number is None else {"name": f"rank{number}.json", "rank": number}
    return replace(
        parse(
            [
                *launched(1, 0, 0, arrives),
                *launched(2, 1, arrives, 200 - arrives, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
                *launched(3, 2, 180, 40),
            ]
        ),
        **who,
    )


def test_ranks_wait_for_the_last():
    early, last = whereabouts([rank(100), rank(150)])
    assert (early.other_rank, early.communicating, early.hidden) == (us(50), us(30), us(20))
    assert (last.other_rank, last.communicating, last.hidden) == (0, us(30), us(20))
    assert last.overlap == pytest.approx(20 / 50)
    for one in (early, last):
        assert one.computing + one.communicating + one.other_rank + one.data + one.synchronising + one.launching == us(220)
    (alone,) = whereabouts([rank(100)])  # one rank can't know who came last
    assert (alone.other_rank, alone.communicating) == (0, us(80))


def test_the_rank_that_the_others_wait_for_is_named():
    ranks = whereabouts([rank(100, 0), rank(150, 1), rank(90, 2)])
    assert last_to_come(ranks) == "The others wait for rank 1, up to 60 µs. It spends 60 µs more than the quickest on computing."
    assert last_to_come(ranks[:1]) == last_to_come(whereabouts([rank(150, 0), rank(150, 1)])) == ""
    with pytest.raises(BadValue, match=r"rank3\.json and other\.json are both of rank 3"):
        whereabouts([rank(100, 3), replace(rank(150, 3), name="other.json")])


def test_many_ranks_are_lines(capsys):
    ranks = whereabouts([rank(150 if i == 5 else 100, i) for i in range(8)])
    _ranks(ranks)
    out = capsys.readouterr().out
    assert all(f"rank {i}" in out for i in range(8)) and "…" not in out and "for a rank" in out
    assert max(map(len, out.splitlines())) <= 80 and "wait for rank 5" in out


def test_traces_of_different_runs_are_refused():
    other = parse([*launched(1, 0, 0, 10), *launched(2, 1, 10, 5, "ncclDevKernel_Broadcast")])
    with pytest.raises(BadValue, match="different collectives"):
        whereabouts([rank(100), other])


def test_without_kernels_there_is_nothing_to_say():
    assert whereabouts([parse([event("cpu_op", "aten::mm", 0, 6)])]) == ()
