"""The labs' pages and sockets: what they show, what they take, and who is let in."""

import json
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient, WebSocketDisconnect
from test_server_gallery import LAB, put, words

from ironlaw.server import lab_socket
from ironlaw.server.app import create_app

OURS = {"origin": "http://127.0.0.1:2718"}
PLACE = "/lab/lab_01_first/"
SOCKET = f"ws://127.0.0.1:2718{PLACE}ws"
COUNTS = """from ironlaw.kit import page_host as host
from ironlaw.kit.cell import Cell
from ironlaw.widget.piece import Piece


class Lab:
    def __init__(self, folder):
        self.get, put = host.state(0)
        self.piece = host.element(Piece("toggle", {"options": [{"value": 1}]}, lambda state: put(state["value"]) or {}))

    def states(self, *names):
        return (self.get,)


open = Lab
CELLS = [Cell("chosen", lambda lab: f"{lab.piece}"), Cell("seen", lambda lab: f"at {lab.get()}", again=("at",))]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("site") / "labs"
    put(folder / "lab_01_first", LAB, words("First things"))
    put(folder / "lab_02_no_app", "x = 1\n", words("No app"))
    put(folder / "lab_03_raises", LAB.replace('"hello"', "1 / 0"), words("Raises"))
    put(folder / "lab_04_counts", COUNTS, words("Counts"))
    with TestClient(create_app(labs_folder=folder), base_url="http://127.0.0.1:2718") as client:
        yield client


@pytest.fixture(scope="module")
def html(site: TestClient) -> str:
    return site.get(PLACE).text


def test_a_lab_s_page_has_its_head_at_once_and_a_place_for_each_cell(site: TestClient, html: str):
    assert "First things" in html and '<a href="/">ironlaw</a>' in html and html.count('rel="icon"') == 1
    assert html.index('name="color-scheme"') < html.index("<link"), "no white page in the dark"
    assert html.index("early.js") < html.index('rel="stylesheet"'), "the socket is opened first: a style sheet would hold it up"
    assert re.findall(r'class="il-cell" id="cell-(\w+)"', html) == ["opened", "states", "hello"]
    assert site.get(PLACE.rstrip("/"), follow_redirects=False).headers["location"].endswith(PLACE)
    response = site.get(PLACE)
    assert response.headers["cache-control"] == "no-store"
    assert "etag" not in response.headers


def test_the_page_may_reach_this_server_only(site: TestClient, html: str):
    policy = site.get(PLACE).headers["content-security-policy"]
    assert "connect-src 'self' ws://127.0.0.1:2718" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"https?:", policy)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == rules["script-src"] == "'self'" and rules["object-src"] == rules["base-uri"] == "'none'"
    assert not re.findall(r"""<(?:link|script|img)\b[^>]*\s(?:href|src)=["'](?:https?:)?//[^"']+""", html)
    assert not re.findall(r"<script(?![^>]*\bsrc=)|\son\w+=", html), "nothing in the page itself runs"


def test_what_is_no_part_of_a_lab_is_not_there(site: TestClient):
    for path in ("api/kernel/execute", "sse", "lab.py", "words.md", "../x", "health/x", "ws"):
        assert site.get(PLACE + path).status_code in (404, 405), path
    assert site.get(f"{PLACE}health").text == "here\n" and site.head(f"{PLACE}health").status_code == 200
    assert site.post(PLACE, headers=OURS).status_code == site.put(f"{PLACE}health", headers=OURS).status_code == 405
    with pytest.raises(WebSocketDisconnect) as closed, site.websocket_connect(f"{SOCKET}x", headers=OURS):
        pass
    assert closed.value.reason == "not part of a lab"


def test_a_lab_s_files_have_one_address_for_all_labs_and_are_kept(site: TestClient, html: str):
    files = re.findall(r'(?:href|src)="(/[^"]+\.(?:js|css|svg))"', html)
    assert len(files) >= 8
    assert {"/".join(name.split("/")[:2]) for name in files} == {"/static", "/theme", "/glossary", "/widget"}
    for name in files:
        response = site.head(name)
        assert (response.status_code, "immutable" in response.headers["cache-control"]) == (200, True), name
    (ahead,) = re.findall(r'rel="prefetch" href="([^"]+)"', site.get("/").text)
    assert ahead in files, "fetched while the start page is read"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", [PLACE, f"{PLACE}health"])
def test_strangers_do_not_reach_a_lab(site: TestClient, method: str, path: str):
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"origin": "null"}):
        assert site.request(method, path, headers=headers).status_code == 403
    assert site.post(path).status_code == 403  # no Origin at all


def connect(site: TestClient, headers: dict[str, str]):
    return site.websocket_connect(SOCKET, headers=headers)


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {}, {"origin": "null"}, {**OURS, "host": "evil.example"}, {"origin": "http://127.0.0.1:8080"}],
)
def test_a_websocket_from_elsewhere_is_refused(site: TestClient, headers: dict[str, str]):
    with pytest.raises(WebSocketDisconnect), connect(site, headers):
        pass
    assert site.app.state.labs.sockets.count == 0


def test_a_websocket_of_our_own_page_runs_the_lab(site: TestClient):
    with connect(site, OURS) as socket:
        assert socket.receive_json() == {"cells": {"opened": "", "states": "", "hello": "hello"}, "pieces": {}}
        assert site.app.state.labs.sockets.count == 1
    assert site.app.state.labs.sockets.count == 0


def test_an_act_is_answered_with_what_it_changed(site: TestClient):
    with site.websocket_connect("ws://127.0.0.1:2718/lab/lab_04_counts/ws", headers=OURS) as socket:
        opened = socket.receive_json()
        ((name, traits),) = opened["pieces"].items()
        assert traits["kind"] == "toggle" and opened["cells"]["seen"] == "at 1"
        socket.send_json({"piece": name, "state": {"value": 4, "seq": 1}})
        answer = socket.receive_json()
        assert answer["cells"] == {"seen": "at 4"} and answer["pieces"][name]["view"]["seq"] == 1
        for wrong in ("no act", "[]", "{}", '{"piece": "p1"}', '{"piece": "p1", "state": 3}', "[" * 60_000, '{"piece": "p9", "state": {}}'):
            socket.send_text(wrong)
            assert socket.receive_json().keys() == {"error"}
        socket.send_json({"piece": name, "state": {"value": 2, "seq": 2}})
        assert socket.receive_json()["cells"] == {"seen": "at 2"}
        socket.send_bytes(b"\x00")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()


def test_a_lab_that_is_not_there_and_one_too_many_say_so(site: TestClient, monkeypatch: pytest.MonkeyPatch):
    with site.websocket_connect("ws://127.0.0.1:2718/lab/lab_99_none/ws", headers=OURS) as socket:
        assert "lab_99_none" in socket.receive_json()["error"]
    monkeypatch.setattr(site.app.state.labs.sockets, "most", 1)
    with connect(site, OURS) as first, connect(site, OURS) as second:
        assert "cells" in first.receive_json()
        assert second.receive_json() == {"refused": True, "error": lab_socket.crowded(1)}
        with pytest.raises(WebSocketDisconnect) as closed:
            second.receive_text()
    assert closed.value.code == lab_socket.REFUSED


def test_a_dial_that_is_turned_is_answered_on_a_socket_of_its_own(site: TestClient):
    from ironlaw.widget.piece import Piece

    piece = Piece("instrument", {"id": "act1", "dials": []}, lambda state: {"formula": f"{state['dials']}"})
    asked = json.dumps({"piece": piece.spec["direct"], "state": {"dials": {"batch": 8}, "seq": 1}})
    with site.websocket_connect("ws://127.0.0.1:2718/direct", headers=OURS) as socket:
        socket.send_text(asked)
        assert socket.receive_json()["view"] == {"formula": "{'batch': 8}", "seq": 1}
    with (
        pytest.raises(WebSocketDisconnect),
        site.websocket_connect("ws://127.0.0.1:2718/direct", headers={"origin": "http://evil.example"}),
    ):
        pass


NO_QUESTION = [
    "no question", "[]", "{}", '{"piece": "gone", "state": {}}', '{"piece": 1, "state": []}', "[" * 60_000, "x" * 100_000,
    '{"piece":"explore","state":{"dials":' + '{"a":' * 5000 + "0" + "}" * 5000 + "}}",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_QUESTION)
def test_what_is_no_question_gets_a_sentence(site: TestClient, text: str):
    with site.websocket_connect("ws://127.0.0.1:2718/direct", headers=OURS) as socket:
        socket.send_text(text)
        assert socket.receive_json().keys() == {"error"}
        socket.send_text('{"piece": "explore", "state": {"seq": 7}}')
        assert socket.receive_json()["view"]["seq"] == 7


@pytest.mark.parametrize("seq", ['"x"', "[]", "{}", "-1", "1e999", "NaN", "true", "1" + "0" * 300, "null"])
def test_a_bad_number_counts_as_none(site: TestClient, seq: str):
    with site.websocket_connect("ws://127.0.0.1:2718/direct", headers=OURS) as socket:
        socket.send_text(f'{{"piece": "explore", "state": {{"seq": {seq}}}}}')
        assert socket.receive_json()["view"]["seq"] in (0, 1)


def test_bytes_and_half_characters(site: TestClient):
    with site.websocket_connect("ws://127.0.0.1:2718/direct", headers=OURS) as socket:
        socket.send_text('{"piece": "explore", "state": {"dials": {"hardware": "\\ud800"}}}')
        assert "view" in socket.receive_json()
        socket.send_bytes(b"\x00\xff")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
    assert (closed.value.code, closed.value.reason) == (1003, "send text, not bytes")


def test_a_lab_that_is_no_app_or_raises_leaves_the_others_alone(site: TestClient):
    for slug in ("lab_02_no_app", "lab_03_raises"):
        assert site.get(f"/lab/{slug}/").status_code in (200, 500)
    assert site.get("/").status_code == 200
    assert site.get(PLACE).status_code == 200
