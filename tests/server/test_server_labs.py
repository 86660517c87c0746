"""The mounted labs: marimo's app behind our guard, its page made ours, its files kept, its settings not the user's."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Mount
from starlette.testclient import TestClient, WebSocketDisconnect
from test_server_gallery import LAB, put, words

from ironlaw.pages.catalogue import Lab, catalogue
from ironlaw.server.app import create_app
from ironlaw.server.marimo_page import reader, rewrite

OURS = {"origin": "http://127.0.0.1:2718"}
PLACE = "/lab/lab_01_first/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("site") / "labs"
    put(folder / "lab_01_first", LAB, words("First things"))
    put(folder / "lab_02_no_app", "x = 1\n", words("No app"))
    put(folder / "lab_03_raises", LAB.replace('mo.md("hello")', "1 / 0"), words("Raises"))
    with TestClient(create_app(labs_folder=folder), base_url="http://127.0.0.1:2718") as client:
        yield client


@pytest.fixture(scope="module")
def html(site: TestClient) -> str:
    return site.get(PLACE).text


def test_a_lab_opens_with_our_head_and_without_marimos_extras(site: TestClient, html: str):
    assert "First things" in html
    assert "theme.css" in html
    assert html.count('rel="icon"') == 1
    assert '<a href="/">ironlaw</a>' in html
    assert html.index('name="color-scheme"') < html.index("<link")
    assert "__MARIMO_MOUNT_CONFIG__" in html
    for word in ("serviceWorker", 'rel="preload"', 'rel="manifest"'):
        assert word not in html
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
    (nonce,) = re.findall(r"'nonce-([\w-]{16,})'", rules["script-src"])
    assert rules["script-src"] == f"'self' 'nonce-{nonce}'"
    assert rules["default-src"] == rules["base-uri"] == "'self'" and rules["object-src"] == "'none'"  # marimo sets its base
    assert nonce not in site.get(PLACE).text  # another one each time
    assert not re.findall(r"""<(?:link|script|img)\b[^>]*\s(?:href|src)=["'](?:https?:)?//[^"']+""", html)


def marimos_routes() -> list[tuple[str, str]]:
    """All that marimo's app answers to: (method or "websocket", path after the lab's)."""
    from ironlaw.server.labs import create

    def walk(routes: list, place: str) -> Iterator[tuple[str, str]]:
        for route in routes:
            path = place + getattr(route, "path", "")
            inner = getattr(route, "routes", None) or getattr(getattr(route, "app", None), "routes", None)
            if inner:
                yield from walk(inner, path)
            else:
                how = getattr(route, "methods", None) or (["GET"] if isinstance(route, Mount) else ["websocket"])
                yield from ((method, re.sub(r"\{.*\}", "x", path)) for method in sorted(how))

    lab = next(lab for lab in catalogue() if lab.ready)
    return sorted({(how, path.removeprefix(f"/lab/{lab.slug}")) for how, path in walk(create(lab, "/marimo/x", "").routes, "")})


def test_marimos_side_doors_are_closed(site: TestClient):
    """Of a hundred routes a lab's page needs seven; a session started by another than the socket would be one that nobody sees."""
    routes = marimos_routes()
    assert len(routes) > 90 and {("GET", "/sse"), ("websocket", "/terminal/ws"), ("POST", "/api/kernel/execute")} <= set(routes)
    reached = set()
    for how, path in routes:
        url = PLACE.rstrip("/") + path
        if how == "websocket":
            try:
                with site.websocket_connect(f"ws://127.0.0.1:2718{url}", headers=OURS) as socket:
                    socket.receive()
            except WebSocketDisconnect as closed:
                if closed.reason != "not part of a lab":
                    reached.add((how, path))
        elif (response := site.request(how, url, headers=OURS, json={}, follow_redirects=False)).status_code != 404 and path != "":
            reached.add((how, path))
        elif how == "GET" and path:
            assert "not part of a lab" in response.text or path == "/@file/x", path
    wanted = {("websocket", "/ws"), *((how, path) for how in ("GET", "HEAD") for path in ("/", "/health"))}
    assert reached == wanted | {("POST", "/api/kernel/set_model_value"), ("POST", "/api/kernel/set_ui_element_value")}
    assert site.app.state.labs.sessions() == 0


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"objectIds":["a"],"values":' + b"[" * 5000 + b"]" * 5000 + b"}"])
@pytest.mark.parametrize("what", ["model", "ui_element"])
def test_a_body_that_marimo_cannot_read_is_the_senders_fault(site: TestClient, what: str, body: bytes):
    response = site.post(f"{PLACE}api/kernel/set_{what}_value", content=body, headers={**OURS, "marimo-session-id": "s_none"})
    assert response.status_code == 400


def test_a_page_cannot_choose_another_file_or_role():
    assert reader(b"session_id=s_1&file=/etc/passwd&kiosk=true&access_token=x&batch=8") == b"session_id=s_1&batch=8"


def test_marimos_files_have_one_address_for_all_labs_and_are_kept(site: TestClient, html: str):
    files = re.findall(r'(?:href|src)="(/[^"]+\.(?:js|css|svg))"', html)
    assert len(files) > 50
    assert {"/".join(name.split("/")[:2]) for name in files} <= {"/marimo", "/static", "/theme", "/glossary", "/widget"}
    for name in files:
        response = site.head(name)
        assert (response.status_code, "immutable" in response.headers["cache-control"]) == (200, True), name


def test_the_start_page_lets_a_browser_fetch_them_ahead(site: TestClient, html: str):
    place, names = re.search(r'data-assets="([^"]+)" data-files="([^"]+)"', site.get("/").text).groups()
    assert len(names.split()) > 50
    assert all(f'"{place}/{name}"' in html for name in names.split())


def test_the_settings_of_a_user_of_marimo_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from marimo._config.utils import get_user_config_path

    (tmp_path / ".marimo.toml").write_text('[display]\ntheme = "dark"\ncell_output = "above"\n')
    put(tmp_path / "labs" / "lab_01_first", LAB, words("First things"))
    monkeypatch.chdir(tmp_path)
    get_user_config_path.cache_clear()
    client = TestClient(create_app(labs_folder=tmp_path / "labs"), base_url="http://127.0.0.1:2718")
    page = client.get(PLACE).text
    get_user_config_path.cache_clear()
    config, overrides = (json.loads(re.search(rf'"{name}": (\{{.*\}}),\n', page)[1]) for name in ("config", "configOverrides"))
    assert (config["display"]["theme"], config["display"]["cell_output"]) == ("light", "below")
    assert overrides["display"] == {"theme": "system"}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", [PLACE, f"{PLACE}api/kernel/set_model_value", f"{PLACE}health"])
def test_strangers_do_not_reach_a_lab(site: TestClient, method: str, path: str):
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"origin": "null"}):
        assert site.request(method, path, headers=headers).status_code == 403
    assert site.post(path).status_code == 403  # no Origin at all


def connect(site: TestClient, headers: dict[str, str]):
    return site.websocket_connect(f"ws://127.0.0.1:2718{PLACE}ws?session_id=s_tests1", headers=headers)


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {}, {"origin": "null"}, {**OURS, "host": "evil.example"}, {"origin": "http://127.0.0.1:8080"}],
)
def test_a_websocket_from_elsewhere_is_refused(site: TestClient, headers: dict[str, str]):
    with pytest.raises(WebSocketDisconnect), connect(site, headers):
        pass
    assert site.app.state.labs.sessions() == 0


def test_a_websocket_of_our_own_page_runs_the_lab(site: TestClient):
    site.get(PLACE)
    with connect(site, OURS) as socket:
        seen = ""
        while "completed-run" not in seen:
            seen += socket.receive_text()
        assert "hello" in seen
        assert site.app.state.labs.sessions() == 1


def test_a_dial_that_is_turned_is_answered_on_a_socket_of_its_own(site: TestClient):
    from ironlaw.widget.piece import Piece

    site.get(PLACE)  # a lab that is open makes instruments that may be asked
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


def test_rewriting_keeps_what_it_does_not_know():
    scripts = "<script>serviceWorkers()</script><script>kept()</script>"
    page = f'<head><link rel="stylesheet" href="a.css">{scripts}</head><div id="root"></div>'
    made = rewrite(page, Lab("lab_01_x", "A <title>", Path()), "N")
    assert 'href="a.css"' in made
    assert '<script nonce="N">kept()' in made
    assert "serviceWorker" not in made
    assert "A &lt;title&gt;" in made
