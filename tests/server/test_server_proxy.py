"""Behind a Jupyter server's proxy: only what carries its secret, every address under its base, an end when nobody does anything."""

import asyncio
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from ironlaw.errors import BadValue
from ironlaw.pages import base_path
from ironlaw.server import hub_server, idle, jupyter_entry
from ironlaw.server.app import create_app
from ironlaw.server.behind_proxy import Proxy, ProxyGuard

SECRET = "s" * 43
BASE = "/user/ada@example.org/ironlaw"
HUB, SOCKET = "https://hub.example.org", "wss://hub.example.org"
BY_PROXY = {"x-ironlaw-proxy": SECRET}
OURS = BY_PROXY | {"origin": HUB, "sec-fetch-site": "same-origin"}
LAB = "/lab/lab_01_magnitude/"
FROM_ROOT = re.compile(r'(?:href|src|action|data-traits)(?:=\\?"|":")/(?!user/ada@example.org/ironlaw/)[^"\\]*')


@pytest.fixture(scope="module")
def proxy() -> Proxy:
    return Proxy(SECRET, BASE)


@pytest.fixture(scope="module")
def hub(proxy: Proxy) -> TestClient:
    return TestClient(create_app(proxy=proxy), base_url=HUB, follow_redirects=False)


@pytest.mark.parametrize("headers", [{}, {"x-ironlaw-proxy": ""}, {"x-ironlaw-proxy": SECRET[:-1]}, {"x-ironlaw-proxy": SECRET + "s"}])
def test_nobody_comes_in_but_by_the_proxy(hub: TestClient, headers: dict[str, str]):
    for path in ("/", LAB, "/export", "/api/registry", f"/?token={SECRET}"):
        assert hub.get(path, headers=headers).status_code == 403
    assert hub.post("/do/reset", headers={"origin": HUB} | headers).status_code == 403
    for path in (f"{LAB}ws", "/direct"):
        with pytest.raises(WebSocketDisconnect), hub.websocket_connect(SOCKET + path, headers={"origin": HUB} | headers):
            pass


def test_a_secret_that_is_none_starts_no_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError):
        ProxyGuard(None, "")
    monkeypatch.delenv(hub_server.SECRET, raising=False)
    assert hub_server.main(["/nowhere"]) == 2
    assert "ironlaw labs" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/", LAB, "/explore", "/glossary", "/certificate", "/nothing/is/here", "/lab/lab_99_none/"])
def test_every_address_of_a_page_is_under_the_base(hub: TestClient, path: str):
    answer = hub.get(path, headers=BY_PROXY)
    assert f'href="{BASE}/' in answer.text and f'<html lang="en" data-root="{BASE}/">' in answer.text
    assert not FROM_ROOT.findall(answer.text) and "only on this machine" not in answer.text
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_what_a_page_is_made_of_is_found_where_the_proxy_has_taken_the_base_off(hub: TestClient):
    parts = re.findall(rf'(?:src|href)="{BASE}(/[^"#]+\.(?:js|css|svg))"', hub.get(LAB, headers=BY_PROXY).text)
    assert len(parts) > 5
    assert {hub.get(part, headers=BY_PROXY).status_code for part in parts} == {200}


def test_a_redirect_leads_on_whether_or_not_the_proxy_adds_the_base(hub: TestClient):
    assert hub.get(LAB.rstrip("/"), headers=BY_PROXY).headers["location"] == "../lab/lab_01_magnitude/"
    assert hub.get("/?workload=resnet50", headers=BY_PROXY).headers["location"] == "./explore?workload=resnet50"
    token = re.search(r'name="token" value="([^"]+)"', hub.get("/", headers=BY_PROXY).text)
    named = hub.post("/do/name", headers=OURS, data={"token": token[1], "name": "Ada"})
    assert named.status_code == 303 and named.headers["location"] == "../?said=named#you"


def test_a_lab_is_answered_on_its_socket_with_addresses_under_the_base(hub: TestClient):
    with hub.websocket_connect(f"{SOCKET}{LAB}ws", headers=OURS) as lab:
        text = lab.receive_text()
    assert '"cells"' in text and not FROM_ROOT.findall(text)


def test_the_policy_names_the_hubs_socket(hub: TestClient):
    assert "wss://hub.example.org;" in hub.get(LAB, headers=BY_PROXY).headers["content-security-policy"]
    assert hub.get(LAB, headers=BY_PROXY | {"host": "hub.example.org; script-src *"}).status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://hub.example.org.evil.example", "https://ben.hub.example.org"])
def test_another_site_changes_nothing_and_opens_no_socket(hub: TestClient, origin: str):
    theirs = BY_PROXY | {"origin": origin}
    assert hub.post("/do/reset", headers=theirs).status_code == 403
    with pytest.raises(WebSocketDisconnect), hub.websocket_connect(f"{SOCKET}{LAB}ws", headers=theirs):
        pass


def test_a_request_that_names_no_page_changes_nothing(hub: TestClient):
    assert hub.post("/do/reset", headers=BY_PROXY).status_code == 403


def test_a_link_elsewhere_may_lead_to_a_page_and_to_nothing_else(hub: TestClient):
    followed = BY_PROXY | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert hub.get(LAB, headers=followed).status_code == 200
    assert hub.get("/export", headers=followed).status_code == 403
    for how in ({"sec-fetch-mode": "no-cors"}, {"sec-fetch-dest": "iframe"}):
        assert hub.get(LAB, headers=followed | how).status_code == 403


def test_nobody_stops_the_server_from_its_page(hub: TestClient):
    assert "Stop ironlaw" not in hub.get("/", headers=BY_PROXY).text
    assert hub.post("/do/stop", headers=OURS).status_code == 404


@pytest.mark.parametrize("base", ['/user/"><script>', "/user/a b", "user", "//evil.example", "/a\r\nx: y"])
def test_a_base_that_would_have_to_be_escaped_is_refused(base: str):
    with pytest.raises(BadValue, match="ironlaw"):
        base_path.checked(base)


def test_what_counts_as_somebody(hub: TestClient, proxy: Proxy):
    def touched(does) -> bool:
        proxy.clock.last -= 1000
        does()
        return proxy.clock.idle < 900

    assert touched(lambda: hub.get("/glossary", headers=BY_PROXY))
    assert not touched(lambda: hub.get(f"{LAB}health", headers=BY_PROXY))
    assert not touched(lambda: hub.get("/", headers={}))
    with hub.websocket_connect(f"{SOCKET}/direct", headers=OURS) as direct:
        assert touched(lambda: (direct.send_text("{}"), direct.receive_text()))


def test_when_nobody_does_anything_pages_are_told_and_the_server_ends():
    clock, said, ended = idle.Clock(), [], []

    async def listen(message: dict) -> None:
        said.append(message)

    async def gone(message: dict) -> None:
        raise OSError

    clock.listeners |= {gone, listen}
    asyncio.run(clock.watch(0.02, lambda: ended.append(True), look=0.005))
    assert ended and [message.get("text") for message in said] == [idle.ASLEEP, None]


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_minutes_that_are_none_are_refused(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(idle.VARIABLE, text)
    with pytest.raises(BadValue, match=re.escape(text)):
        idle.idle_seconds()


def test_the_proxys_secret_is_new_each_time_and_in_no_command_line():
    one, other = jupyter_entry.server(), jupyter_entry.server()
    secret = one["environment"][hub_server.SECRET]
    assert one["request_headers_override"] == {"x-ironlaw-proxy": secret} and len(secret) > 40
    assert secret != other["environment"][hub_server.SECRET]
    assert not any(secret in word for word in one["command"])
    assert Path(one["launcher_entry"]["icon_path"]).is_file() and one["unix_socket"] is True
