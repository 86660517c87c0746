"""Nobody gets in without the secret: every route, HTTP and WebSocket; with it, a cookie and a clean address."""

import re
from collections.abc import Iterator

import pytest
from labs_entry import TOKEN, cookie
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDisconnect

from ironlaw.server.app import create_app

URL = "http://127.0.0.1:2718"
OURS = {"origin": URL}
DATA = ("ledger", "/do/reset", "Magnitude", "cell-", TOKEN)  # words of pages that only their owner sees


def fresh() -> TestClient:
    return TestClient(create_app(door_token=TOKEN), base_url=URL, follow_redirects=False)


@pytest.fixture
def stranger() -> Iterator[TestClient]:
    yield fresh()


def places() -> list[tuple[str, str]]:
    """Every address of the app; those behind a mount by an example."""
    listed = []
    for route in create_app().routes:
        if isinstance(route, Route):
            listed += [(method, route.path) for method in sorted(route.methods or ())]
        elif isinstance(route, Mount):
            listed.append(("GET", re.sub(r"\{\w+\}", "x", route.path) + "/x"))
    return [*listed, ("GET", "/lab/lab_01_magnitude/"), ("GET", "/lab/lab_01_magnitude/health"), ("GET", "/no-such-place")]


@pytest.mark.parametrize(("method", "path"), places())
def test_without_the_secret_there_is_nothing(stranger: TestClient, method: str, path: str):
    response = stranger.request(method, path, headers=OURS)
    assert response.status_code == 403, path
    assert not any(word in response.text for word in DATA)
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("path", ["/direct", "/lab/lab_01_magnitude/ws", "/lab/lab_01_magnitude/other"])
def test_a_socket_needs_the_cookie_too(stranger: TestClient, path: str):
    assert any(isinstance(route, WebSocketRoute) for route in stranger.app.routes)
    with pytest.raises(WebSocketDisconnect), stranger.websocket_connect(f"ws://127.0.0.1:2718{path}", headers=OURS):
        pass


def test_the_page_at_the_door_says_how_to_get_in_and_has_its_style(stranger: TestClient):
    page = stranger.get("/")
    assert "ironlaw labs" in page.text and "token" in page.text
    for name in re.findall(r'href="(/static/[^"]+)"', page.text):
        assert stranger.get(name).status_code == 200, name
    assert stranger.get(re.sub(r"page\.css", "gallery.css", re.search(r'"(/static/[^"]+page\.css)"', page.text)[1])).status_code == 403


def test_the_secret_becomes_a_cookie_and_leaves_the_address(stranger: TestClient):
    welcome = stranger.get(f"/lab/lab_01_magnitude/?token={TOKEN}&a=1")
    assert welcome.status_code == 200
    assert re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', welcome.text)[1] == "/lab/lab_01_magnitude/?a=1"
    assert TOKEN not in welcome.text
    assert welcome.headers["referrer-policy"] == "no-referrer" and welcome.headers["cache-control"] == "no-store"
    name, value = cookie(URL)
    crumbs = {part.strip().lower() for part in welcome.headers["set-cookie"].split(";")}
    assert crumbs == {f"{name}={value}", "httponly", "samesite=strict", "path=/"}
    assert TOKEN not in value and value not in TOKEN
    start = stranger.get("/")
    assert start.status_code == 200 and "/do/reset" in start.text


@pytest.mark.parametrize(
    "token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ü", "%00", "x" * 5000], ids=lambda token: repr(token[:8])
)
def test_a_wrong_secret(stranger: TestClient, token: str):
    response = stranger.get(f"/?token={token}")
    assert response.status_code == 403 and "not this server’s token" in response.text and "set-cookie" not in response.headers
    assert stranger.get(f"/?token={token}&token={TOKEN}").status_code == 403


def test_a_wrong_cookie(stranger: TestClient):
    name, value = cookie(URL)
    others = (
        f"{name}={value[:-1]}",
        f"{name}={TOKEN}",
        f"ironlaw-1={value}",
        f"{name}=",
        "nonsense",
        f"{name}={'ü' * 64}".encode().decode("latin-1"),
    )
    for other in others:
        assert stranger.get("/", headers={"cookie": other.encode()}).status_code == 403
    assert stranger.get("/", headers={"cookie": f"a=b; {name}={value}; c=d"}).status_code == 200


def test_the_secret_opens_only_by_a_visit(stranger: TestClient):
    """Not in a frame, not as a picture, not by a form."""
    for headers in ({"sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate"}, {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}):
        assert stranger.get(f"/?token={TOKEN}", headers=headers).status_code == 403
    assert stranger.post(f"/?token={TOKEN}", headers=OURS).status_code == 403
    visit = {"sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site"}  # from the file that opens it
    assert stranger.get(f"/?token={TOKEN}", headers=visit).status_code == 200


def test_a_link_on_another_page_leads_to_the_door(stranger: TestClient):
    stranger.get(f"/?token={TOKEN}")
    for site in ("cross-site", "same-site"):
        visit = {"sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": site}
        for path, place in (("/lab/lab_01_magnitude/", "/lab/lab_01_magnitude/"), ("/export", "/"), ("//evil.example/", "/")):
            page = stranger.get(URL + path, headers=visit)
            assert page.status_code == 403 and f'<a href="{place}">' in page.text, path
            assert not any(word in page.text for word in DATA)
        for dest in ("image", "script", "style", "audio", "empty", "iframe"):
            for path in ("/", "/export", "/lab/lab_01_magnitude/", "/api/registry"):
                assert stranger.get(path, headers={**visit, "sec-fetch-dest": dest}).status_code == 403
