"""The pages and their files: headers, and nothing from elsewhere."""

import json
import re

import pytest
from starlette.testclient import TestClient

from ironlaw import __version__
from ironlaw.server.app import STATIC
from ironlaw.widget import assets

FILES = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file())


PAGES = ("/", "/explore")


@pytest.fixture
def html(client: TestClient) -> str:
    return client.get("/explore").text


def folder(html: str) -> str:
    return re.search(r'href="(/static/[0-9a-f]+)/page\.css"', html)[1]


def widget(html: str) -> str:
    return re.search(r'src="(/widget/[0-9a-f]+)/piece\.js"', html)[1]


@pytest.mark.parametrize("path", PAGES)
def test_every_slot_is_filled(client: TestClient, path: str):
    html = client.get(path).text
    assert "{{" not in html
    assert __version__ in html


def test_security_headers(client: TestClient):
    for path in (*PAGES, "/api/registry", "/nowhere", "/lab/nowhere/"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("path", PAGES)
def test_no_inline_script_or_style(client: TestClient, path: str):
    html = client.get(path).text
    for attributes, body in re.findall(r"<script\b([^>]*)>(.*?)</script>", html, re.S):
        assert "src=" in attributes or 'type="application/json"' in attributes, body[:80]
    assert not re.search(r"<[^>]+\s(on\w+|style)=", html.rsplit("</script>", maxsplit=1)[-1])


@pytest.mark.parametrize("name", FILES)
def test_static_files_are_served_and_kept(client: TestClient, html: str, name: str):
    response = client.get(f"{folder(html)}/{name}")
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]
    assert "etag" in response.headers


def test_a_file_that_is_kept_is_not_sent_again(client: TestClient, html: str):
    first = client.get(f"{folder(html)}/page.css")
    again = client.get(f"{folder(html)}/page.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(f"{folder(html)}/page.css").content == b""


def test_the_pages_themselves_are_asked_for_again(client: TestClient):
    assert client.get("/explore").headers["cache-control"] == "no-cache"
    assert client.get("/").headers["cache-control"] == "no-store"  # going back to it shows what was done meanwhile


def test_old_bookmarks_of_the_instrument_still_work(client: TestClient):
    response = client.get("/?workload=resnet50&hardware=t4&batch=8", follow_redirects=False)
    assert response.headers["location"] == "/explore?workload=resnet50&hardware=t4&batch=8"


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith((".js", ".css", ".svg"))])
def test_nothing_from_elsewhere(name: str):
    text = (STATIC / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"""(["'(]|import )(https?:)?//[\w.]""", text)


def test_the_widget_is_served_and_kept(client: TestClient, html: str):
    script, sheet = (client.get(f"{widget(html)}/{name}") for name in ("piece.js", "piece.css"))
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.text == assets.script(assets.HOSTED)
    assert sheet.text == assets.style()
    assert all("immutable" in response.headers["cache-control"] for response in (script, sheet))
    assert client.get(f"{widget(html)}/dom.js").status_code == 404


def test_the_page_carries_its_piece(client: TestClient):
    text = client.get("/explore?workload=gpt2&batch=8&colour=red").text
    piece = json.loads(re.search(r'data-piece="instrument">(.*?)</script>', text, re.S)[1])
    assert piece["state"]["dials"]["batch"] == 8
    assert "workload=gpt2" in piece["view"]["query"]
    assert "colour" not in piece["view"]["query"]
    assert [json.loads(figure)["id"] for figure in piece["view"]["figures"]] == ["terms", "roofline"]


def test_no_way_out_of_the_static_folder(client: TestClient, html: str):
    for name in ("../app.py", "%2e%2e/app.py", "..%2fapp.py"):
        assert client.get(f"{folder(html)}/{name}").status_code == 404


@pytest.mark.parametrize("address", ["/nowhere", "/labs/x", "/lab/x/y", "/lab/x/", "/explore/x"])
def test_an_unknown_address_has_a_page_that_says_so_and_leads_back(client: TestClient, address: str):
    """It was a line of plain text without a title."""
    response = client.get(address)
    assert response.status_code == 404 and response.headers["content-type"].startswith("text/html")
    assert "<title>ironlaw: There is no" in response.text and '<a href="/">All labs</a>' in response.text
    assert "<x>" not in client.get("/labs/<x>").text


def test_only_reading(client: TestClient):
    ours = {"origin": "http://127.0.0.1:2718"}
    for path in ("/", "/explore", "/api/predict", "/export"):
        assert client.post(path, headers=ours).status_code == 405
    assert client.get("/do/reset").status_code == 405
