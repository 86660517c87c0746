"""Who is computed for first, and that nothing long keeps the others waiting."""

import asyncio
import json
import threading

import pytest
from starlette.websockets import WebSocketDisconnect

from ironlaw.pages.lab_catalogue import find
from ironlaw.server import request_limits, work_queue
from ironlaw.server.direct_socket import SKIPPED, direct
from ironlaw.server.lab_socket import Sockets
from ironlaw.server.work_queue import ACT, AHEAD, BUSY, LOOK, OPEN, WorkQueue


def test_a_turning_dial_goes_first_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch):
    """One thread, held up while four kinds arrive; then an opening that has waited for long meets dials that have not."""
    clock = [100.0]
    monkeypatch.setattr(work_queue.time, "monotonic", lambda: clock[0])
    queue = WorkQueue(threads=8)
    monkeypatch.setattr(queue, "started", 8)  # nobody works: only the order counts
    order: list[str] = []
    for name, kind, later in (("ahead", AHEAD, 0), ("open", OPEN, 0), ("act", ACT, 0), ("look", LOOK, 0), ("late look", LOOK, 2)):
        clock[0] += later
        queue.put(kind, lambda name=name: order.append(name))
    while (kind := queue.next_kind()) is not None:
        work_queue.heapq.heappop(queue.waiting[kind])[-1]()
    assert order == ["look", "act", "open", "late look", "ahead"]


def test_pages_that_hang_leave_room_for_a_dial():
    """Openings and acts that never end: a look is answered all the same."""
    queue, hold = WorkQueue(), threading.Event()

    async def main() -> str:
        stuck = [asyncio.create_task(queue.run(kind, hold.wait, 30)) for kind in (ACT, OPEN, AHEAD) for _ in range(20)]
        await asyncio.sleep(0.05)
        assert queue.is_busy
        try:
            return await asyncio.wait_for(queue.run(LOOK, lambda: "picture"), 20)
        finally:
            hold.set()
            await asyncio.gather(*stuck)

    assert asyncio.run(main()) == "picture"


def test_an_exception_is_the_caller_s_and_one_who_left_is_not_worked_for():
    queue, hold, done = WorkQueue(threads=2, at_once={LOOK: 2, ACT: 1, OPEN: 1, AHEAD: 1}), threading.Event(), []

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await queue.run(ACT, lambda: 1 / 0)
        running = asyncio.create_task(queue.run(ACT, hold.wait, 10))
        left = asyncio.create_task(queue.run(ACT, done.append, 1))
        await asyncio.sleep(0.01)
        left.cancel()
        hold.set()
        await running
        await queue.run(ACT, lambda: None)

    asyncio.run(main())
    assert done == []


class Socket:
    """Hands over messages, and takes down what is answered."""

    def __init__(self, *texts: str) -> None:
        self.messages = [{"type": "websocket.receive", "text": text} for text in texts] + [{"type": "websocket.disconnect"}]
        self.answers: list[str] = []

    async def accept(self) -> None: ...

    async def receive(self) -> dict:
        return self.messages.pop(0)

    async def send_text(self, text: str) -> None:
        self.answers.append(text)


def test_one_who_takes_no_answer_is_let_go_without_a_word():
    class Gone(Socket):
        async def send_text(self, text: str) -> None:
            raise WebSocketDisconnect(1006)

    asyncio.run(direct(Gone('{"piece": "x", "state": {}}')))
    sockets = Sockets()
    asyncio.run(sockets.serve(Gone(), find("lab_12_amdahl"), "lab_12_amdahl"))
    assert sockets.count == 0


def test_while_others_wait_nothing_is_computed_in_advance(monkeypatch: pytest.MonkeyPatch):
    from ironlaw.server.work_queue import WORK

    ahead = json.dumps({"piece": "x", "state": {"dials": {}, "ahead": True}}, separators=(",", ":"))
    socket = Socket(ahead)
    asyncio.run(direct(socket))
    assert "error" in json.loads(socket.answers[0])  # computed, and there is no such piece
    monkeypatch.setattr(WORK, "waiting", {kind: [(0.0, 0, print)] * BUSY if kind == OPEN else [] for kind in WORK.waiting})
    monkeypatch.setattr(WORK, "running", {**WORK.running, OPEN: 99})
    socket = Socket(ahead, ahead.replace("true", "false"))
    asyncio.run(direct(socket))
    assert socket.answers[0] == SKIPPED and "piece" not in json.loads(SKIPPED) and "error" in json.loads(socket.answers[1])


def test_there_are_connections_and_descriptors_for_all_pages_that_may_be_open():
    resource = pytest.importorskip("resource")
    from ironlaw.cli.labs import PAGES

    assert request_limits.PAGES == PAGES and request_limits.connections(PAGES) > 3 * PAGES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        assert request_limits.allow_descriptors(5000) < 5000
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
        assert request_limits.allow_descriptors(PAGES) == PAGES
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > request_limits.connections(PAGES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
