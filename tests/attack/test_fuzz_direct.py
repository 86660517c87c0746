"""Odd frames on /direct, the socket of the dials. It ignores them or closes in an orderly way, and the next question is answered."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from attack_length import fuzzing
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

SOCKET = "ws://127.0.0.1:2718/direct"
HEADERS = {"origin": "http://127.0.0.1:2718"}
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
DIALS = ("workload", "hardware", "batch", "dtype", "mode", "dispatch", "seq", "moving", "seq_no", "view", "__class__")
STATES: Any = st.dictionaries(st.sampled_from(DIALS), JSON | st.sampled_from(("resnet50", "h100_sxm", "eager", 8, "nan", -1)), max_size=4)
PIECES: Any = st.sampled_from(("explore", "", "x" * 24, None, 3, [], {}))
QUESTIONS = st.fixed_dictionaries({}, optional={"piece": PIECES, "state": STATES | JSON, "seq": JSON, "more": JSON})
FRAMES: Any = st.one_of(
    QUESTIONS.map(json.dumps),
    JSON.map(json.dumps),
    st.text(max_size=40),
    st.binary(max_size=40),
    QUESTIONS.map(lambda question: json.dumps(question).encode()),
    st.sampled_from(
        [
            "[" * 60_000,
            '{"a":' * 10_000,
            '{"piece": "explore", "state": ' + "[" * 20_000,
            "9" * 5000,
            "x" * 70_000,
            "\ud800",
            "NaN",
            b"\xff" * 70_000,
        ]
    ),
)
CLOSED = {1000, 1003, 1007, 1008, 1009}  # in order: done, not text, not text of ours, not allowed, too large


def closed_or_alive(socket: Any) -> int:
    """The code that the socket was closed with, or 0 where it answers the next question."""
    try:
        socket.send_text(json.dumps({"piece": "explore", "state": {}, "seq": 7}))
        while True:
            answer = json.loads(socket.receive_text())
            if "view" in answer:
                return 0
    except WebSocketDisconnect as end:
        return end.code


def test_odd_frames(inside: TestClient, figure):
    ends: Counter[int] = Counter()
    sent = 0

    @fuzzing(15, 250)
    @given(st.lists(FRAMES, min_size=1, max_size=4))
    def attack(frames: list[str | bytes]) -> None:
        nonlocal sent
        with inside.websocket_connect(SOCKET, headers=HEADERS) as socket:
            for frame in frames:
                sent += 1
                socket.send_text(frame) if isinstance(frame, str) else socket.send_bytes(frame)
            code = closed_or_alive(socket)
        ends[code] += 1
        assert code == 0 or code in CLOSED, (code, frames)

    attack()
    assert ends[0] > 0
    figure(
        f"{sent:,} odd frames on /direct: 0 tracebacks; {ends[0]:,} of {sum(ends.values()):,} sockets stayed open, the rest closed in order"
    )


def test_a_stranger_has_no_socket(outside: TestClient):
    for headers in (HEADERS, {}, {"origin": "http://evil.example"}):
        try:
            with outside.websocket_connect(SOCKET, headers=headers):
                raise AssertionError("it opened")
        except Exception as refusal:
            assert type(refusal).__name__ in ("WebSocketDenialResponse", "WebSocketDisconnect"), refusal
