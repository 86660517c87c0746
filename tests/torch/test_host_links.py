"""Copies between host and GPU take time, what reads a value makes the host wait, and the verdict names the line."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.host_links import FRESH, KEPT_BY_ALLOCATOR, LINE, LINK, RATES, SPREAD, WAITS, rate, without_waits  # noqa: E402

H200 = il.hardware("h200_sxm")
X = torch.empty(8192, 4096, dtype=torch.bfloat16)
WEIGHT = torch.empty(4096, 4096, dtype=torch.bfloat16, device="meta")


def linked(graph: Any) -> list[tuple[str, bool]]:
    return [(one.attrs.get(LINK, ""), bool(one.attrs.get(WAITS))) for one in graph.ops if LINE in one.attrs]


def wrong(x: Any) -> Any:
    for _ in range(10):
        x = x @ WEIGHT
        x.sum().item()
        x = x.to("cpu").to("cuda")
    return x


def right(x: Any) -> Any:
    for _ in range(10):
        x = x @ WEIGHT
    return x


def test_copies_back_and_forth_take_their_bytes_over_the_link():
    """Ten copies of 64 MB each way on an H200's host: about 5 ms there and 45 ms back, into fresh pages (evidence: host_copies.json)."""
    bad, good = (il.predict(il.capture(call, (X,)), H200) for call in (wrong, right))
    assert bad.seconds - good.seconds == pytest.approx(10 * X.numel() * 2 * (1 / RATES["pageable"] + 1 / RATES[FRESH]), rel=0.02)
    assert bad.label == "calibrated" and bad.interval[0] < bad.seconds < bad.interval[1] < 3 * bad.seconds


def test_the_rates_are_those_that_were_measured():
    from ironlaw.registry.evidence import evidence

    rows = [row for file in evidence("h200_sxm") for row in file.rows if row.name == "host_copy"]
    held = [row for row in rows if row.params["host"] != FRESH and 4e6 < row.params["bytes"] < 1e8]
    fresh = [row for row in rows if row.params["host"] == FRESH and row.params["bytes"] > KEPT_BY_ALLOCATOR]
    assert (len(held), len(fresh)) == (12, 3)
    for row in held + fresh:
        assert abs(math.log(row.params["bytes"] / row.piped_s / RATES[row.params["host"]])) < SPREAD[row.params["host"]]


def test_a_large_result_on_the_host_lies_in_pages_that_must_be_cleared_first():
    """64 MB of results take ten times as long as the same bytes into memory that is there (measured: 47 ms and 4.7 ms)."""
    large, small = (
        il.capture(lambda x: (x * 2).cpu(), (torch.empty(size, dtype=torch.int8, device="meta"),)) for size in (1 << 26, 1 << 24)
    )
    assert linked(large) == [(FRESH, True)] and linked(small) == [("pageable", True)]
    times = [il.predict(graph, H200).seconds for graph in (large, small)]
    assert times[0] > 30 * times[1] > 0


@pytest.mark.parametrize(("machine", "pinned"), [("h200_sxm", 53e9), ("a100", 26.5e9), ("t4", 13.25e9), ("gh200", 378e9)])
def test_a_copy_takes_the_wire_that_the_machine_has(machine: str, pinned: float):
    graph = il.capture(lambda x: x.cuda(non_blocking=True) * 2, (torch.empty(1 << 28, dtype=torch.int8),))
    (copy,) = [one for one in il.predict(graph, il.hardware(machine)).ops if LINK in one.op.attrs]
    assert copy.cost.device == pytest.approx((1 << 28) / pinned, rel=0.02)
    assert RATES["pageable"] == rate("pageable", 63e9) and rate("pageable", 8e9) < 7e9


def test_the_verdict_names_the_line():
    advice = il.advise(il.capture(wrong, (X,)), H200)
    assert "test_host_links.py:" in advice.finding and 'x.to("cpu").to("cuda")' in advice.finding
    assert "makes the host wait for the GPU, for 9" in advice.finding
    assert "wait for the GPU" not in il.advise(il.capture(right, (X,)), H200).finding


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        (lambda x: x.to("cuda") * 2, [("pageable", True)]),
        (lambda x: x.cuda(non_blocking=True) * 2, [("pinned", False)]),
        (lambda x: x.to("cuda", non_blocking=True).to("cuda") * 2, [("pinned", False)]),
        (lambda x: (x * 2).cpu(), [("pageable", True)]),
        (lambda x: (x * 2).sum().item(), [("pageable", True)]),
        (lambda x: (torch.cuda.synchronize(), x * 2)[1], [("", True)]),
        (lambda x: x.to(WEIGHT.device) * 2, []),
        (lambda x: x.to(torch.float32) * 2, []),
        (lambda x: x[x > 0], [("pageable", True)]),
        (lambda x: x.index_put((x > 0,), torch.ones(32)), [("pageable", True)]),
        (lambda x: x.index_put((x > 0,), torch.tensor(1.0)), []),
        (lambda x: x.masked_fill(x > 0, 1.0), []),
    ],
)  # fmt: skip
def test_what_is_a_copy_and_what_waits(call: Any, seen: list[tuple[str, bool]]):
    assert linked(il.capture(call, (torch.ones(4, 8),))) == seen


def stepped(read: bool, **how: Any) -> Any:
    net = nn.Sequential(*(nn.Linear(512, 512) for _ in range(6)))
    optimiser = torch.optim.AdamW(net.parameters())

    def step(x: Any, y: Any) -> None:
        x, y = x.to("cuda", **how), y.to("cuda", **how)
        loss = (net(x) - y).square().mean()
        if read and loss.item() > 1e9:
            return
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


BATCH = torch.empty(2048, 512), torch.empty(2048, 512)


def test_a_step_without_waits_is_the_one_that_is_written_so():
    wrong, right = il.capture(stepped(True), BATCH), il.capture(stepped(False, non_blocking=True), BATCH)
    changed = without_waits(wrong)
    assert changed is not None and [one.kind for one in changed.ops] == [one.kind for one in right.ops]
    assert changed.settings["backwards"] == right.settings["backwards"] and without_waits(right) is None
    assert il.predict(changed, H200).seconds == pytest.approx(il.predict(right, H200).seconds)
    assert il.predict(right, H200).seconds < 0.9 * il.predict(wrong, H200).seconds


def test_waiting_is_what_is_changed_first():
    found = il.analyze(stepped(True), BATCH, on="h200", modes=["eager"]).verdict
    assert found.actions[0].changes == ("syncs",) and "non_blocking" in found.actions[0].how


def test_a_value_that_is_read_drains_the_queue():
    """Where the host is ahead, launches after the read begin when the device is through: that is far more than the copy itself."""
    read, plain = (il.predict(il.capture(stepped(read, non_blocking=True), BATCH), H200) for read in (True, False))
    (item,) = (row for row in read.ops if row.op.name.startswith("item"))
    assert read.seconds - plain.seconds > 4 * (item.seconds + item.launch_s)
