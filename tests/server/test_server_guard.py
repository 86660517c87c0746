"""Only our own pages reach the server: Host and Origin, HTTP and WebSocket."""

import anyio
import pytest
from starlette.testclient import TestClient

from ironlaw.server.door import Door
from ironlaw.server.guard import Guard, refusal


def scope(host: str | None = "127.0.0.1:2718", origin: str | None = None, kind: str = "http", **more) -> dict:
    headers = [(name, value.encode()) for name, value in ((b"host", host), (b"origin", origin)) if value is not None]
    method = {"method": "GET"} if kind == "http" else {}
    return {"type": kind, "scheme": "http", "server": ("127.0.0.1", 2718), "headers": headers, **method, **more}


@pytest.mark.parametrize("host", ["127.0.0.1:2718", "localhost:2718", "LOCALHOST:2718", "[::1]:2718"])
def test_our_names_pass(host: str):
    assert refusal(scope(host)) is None
    assert refusal(scope(host, f"http://{host.lower()}")) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:2718",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost:2719",
        "127.0.0.1:2718.evil.example",
        "192.168.0.2:2718",
        "",
        None,
    ],
)
def test_other_hosts_are_refused(host: str | None):
    assert "not this server" in (refusal(scope(host)) or "")


def test_two_hosts_are_refused():
    twice = scope()
    twice["headers"] = [*twice["headers"], (b"host", b"evil.example")]
    assert refusal(twice)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:8080",
        "file://127.0.0.1:2718",
        "http://127.0.0.1:2718.evil.example",
        "http://[::1]:2718",
        "",
    ],
)
def test_other_origins_are_refused(origin: str):
    assert "another page" in (refusal(scope(origin=origin)) or "")


def test_what_can_change_something_must_say_where_it_comes_from():
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert "Origin" in (refusal(scope(method=method)) or "")
        assert refusal(scope(method=method, origin="http://127.0.0.1:2718")) is None
    assert "Origin" in (refusal(scope(kind="websocket")) or "")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin, cross-site", ""])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_what_another_page_started_is_refused_whatever_it_is(site: str, kind: str):
    started = scope(origin="http://127.0.0.1:2718", kind=kind)
    assert refusal(started) is None
    started["headers"].append((b"sec-fetch-site", site.encode()))
    assert "another page started" in (refusal(started) or "")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_what_our_page_or_the_person_started_passes(site: str):
    assert refusal({**scope(), "headers": [*scope()["headers"], (b"sec-fetch-site", site.encode())]}) is None


def test_a_default_port_may_be_left_out():
    assert refusal({**scope("localhost"), "server": ("127.0.0.1", 80)}) is None


def test_strangers_get_403_in_clear_words(client: TestClient):
    response = client.get("/", headers={"host": "rebound.example:2718"})
    assert response.status_code == 403
    assert "rebound.example" in response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert "content-security-policy" in response.headers
    assert client.get("/api/predict", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/predict", headers={"origin": "http://127.0.0.1:2718"}).status_code == 200


def sent(asked: dict) -> tuple[list[dict], list[str]]:
    """What the guard sends for a scope, and which requests reached the app behind it."""
    messages: list[dict] = []
    reached: list[str] = []

    async def app(scope, receive, send):
        reached.append(scope["type"])

    async def send(message):
        messages.append(message)

    anyio.run(Guard(app, Door("")), asked, None, send)
    return messages, reached


def test_websockets_are_guarded_too():
    assert sent(scope(kind="websocket", origin="http://127.0.0.1:2718")) == ([], ["websocket"])
    messages, reached = sent(scope(kind="websocket", origin="http://evil.example"))
    assert (messages[0]["type"], messages[0]["code"], reached) == ("websocket.close", 1008, [])
    messages, reached = sent(scope(kind="websocket", host="evil.example", extensions={"websocket.http.response": {}}))
    assert (messages[0]["type"], len(messages), reached) == ("websocket.close", 1, [])  # with a body, uvicorn logs an error each time


def test_lifespan_passes():
    assert sent({"type": "lifespan"}) == ([], ["lifespan"])
