"""A JupyterHub with students: the tile in the launcher, two at once, a server that the hub stops in mid-lab, one that nobody uses."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab_steps import PATIENCE, commit
from playwright.sync_api import Browser, Page, expect
from running_hub import Hub

from ironlaw.ledger import open_ledger

LAB = "ironlaw/lab/lab_01_magnitude/"


@contextmanager
def student(chromium: Browser, hub: Hub, name: str) -> Iterator[Page]:
    """Signed in, in a browser of their own, before their server runs."""
    expect.set_options(timeout=PATIENCE)
    with chromium.new_context() as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(f"{hub.url}/hub/login")
        page.get_by_label("Username:").fill(name)
        page.get_by_label("Password:").fill("anything")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(rf"/(hub/spawn-pending|user)/{name}|/hub/home"))
        yield page


def opened(page: Page, hub: Hub, name: str, place: str = LAB) -> Page:
    """A lab, by the hub's own link, which starts the server where none runs."""
    page.goto(f"{hub.url}/hub/user-redirect/{place}")
    page.wait_for_url(re.compile(rf"{hub.url}/user/{name}/{place}"))
    return page


def predictions(hub: Hub, name: str) -> list[str]:
    """What the student's own ledger holds, in the student's own home."""
    (file,) = hub.home(name).rglob("ledger.db")
    ledger = open_ledger(file)
    try:
        return [event.payload["choice"] for event in ledger.events() if event.kind == "prediction"]
    finally:
        ledger.close()


def test_the_launcher_has_a_tile_with_our_icon_and_it_opens_the_labs(chromium: Browser, hub: Hub):
    with student(chromium, hub, "dee") as page:
        opened(page, hub, "dee", "lab")
        tile = page.locator(".jp-LauncherCard", has_text="ironlaw labs")
        expect(tile).to_be_visible()
        drawn = tile.locator("img").first
        assert "icon/ironlaw" in (drawn.get_attribute("src") or "") and drawn.evaluate("(image) => image.naturalWidth") > 0
        with page.context.expect_page() as tab:
            tile.click()
        expect(tab.value.get_by_role("heading", name="ironlaw", exact=True)).to_be_visible()
        assert tab.value.url == f"{hub.url}/user/dee/ironlaw/"
        tab.value.get_by_label("Your name").fill("Dee")
        tab.value.get_by_role("button", name="Save").click()
        expect(tab.value.get_by_text("Welcome back, Dee.")).to_be_visible()
        tab.value.get_by_role("link", name="Where does the time go?").click()
        expect(tab.value.locator(".il-drawing").first).to_be_visible()


def test_two_students_at_once_and_a_server_that_the_hub_stops(chromium: Browser, hub: Hub):
    with student(chromium, hub, "ada") as ada, student(chromium, hub, "ben") as ben:
        opened(ada, hub, "ada")
        opened(ben, hub, "ben")
        commit(ada, "10⁴", "fairly sure")
        commit(ben, "10⁶", "unsure")
        for page in (ada, ben):
            expect(page.locator(".il-reason").first).to_be_visible()
        assert len(predictions(hub, "ada")) == len(predictions(hub, "ben")) == 1
        assert predictions(hub, "ada") != predictions(hub, "ben")
        expect_apart(ada, ben, hub)

        hub.stop("ada")
        expect(ada.locator("#il-lost")).to_contain_text("Your Jupyter server has stopped")
        expect(ben.locator("#il-lost")).to_have_count(0)
        kept = predictions(hub, "ada")
        ada.get_by_role("link", name="start it again").click()
        ada.get_by_role("button", name=re.compile("[Ll]aunch")).click()  # the hub's own page
        ada.wait_for_url(re.compile(rf"/user/ada/{LAB}"))  # the hub may add how often it has redirected
        expect(ada.locator(".il-reason").first).to_be_visible()  # the reveal, as before: nothing is asked again
        assert predictions(hub, "ada") == kept


def expect_apart(ada: Page, ben: Page, hub: Hub) -> None:
    """Neither reaches the other's page, ledger or socket; and a local program without the proxy's secret reaches nobody's."""
    for page, other in ((ada, "ben"), (ben, "ada")):
        request = page.context.request
        for place in (LAB, "ironlaw/", "ironlaw/export", "ironlaw/api/registry", "ironlaw/certificate.json", f"{LAB}health"):
            assert request.get(f"{hub.url}/user/{other}/{place}").status == 403, place
        posted = request.post(f"{hub.url}/user/{other}/ironlaw/do/reset", headers={"origin": hub.url})
        assert posted.status == 403
        for place in (f"{LAB}ws", "ironlaw/direct"):
            assert heard(page, f"/user/{other}/{place}") == "closed"
        own = page.url.removeprefix(hub.url).partition("?")[0]
        assert "cells" in heard(page, f"{own}ws")  # the same question to one's own server is answered
    sockets = list((hub.folder / "sockets").glob("jupyter-server-proxy-*/socket"))
    assert len(sockets) >= 2
    for path in sockets:
        assert asked_directly(path).startswith(b"HTTP/1.1 403")


def heard(page: Page, path: str) -> str:
    """The first message of a socket that this page opens, or that it was closed."""
    return str(
        page.evaluate(
            """(path) => new Promise((done) => {
              const socket = new WebSocket(`ws://${location.host}${path}`);
              socket.onmessage = ({ data }) => { done(data); socket.close(); };
              socket.onclose = () => done("closed");
            })""",
            path,
        )
    )


def asked_directly(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE / 1000)
        sock.connect(str(path))
        sock.sendall(b"GET /export HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        return sock.recv(4096)


def test_labs_that_nobody_uses_pause_and_go_on_when_touched(chromium: Browser, hub: Hub):
    with student(chromium, hub, "cy") as page:
        opened(page, hub, "cy")
        commit(page, "10⁴", "fairly sure")
        expect(page.locator(".il-reason").first).to_be_visible()
        expect(page.get_by_text("The labs have paused")).to_be_visible()
        with page.expect_navigation():
            page.keyboard.press("Shift")
        expect(page.locator(".il-reason").first).to_be_visible()
        assert len(predictions(hub, "cy")) == 1


def test_a_page_that_is_no_student_of_the_hub_gets_the_sign_in_page_alone(chromium: Browser, hub: Hub):
    with chromium.new_context() as context:
        answer = context.request.get(f"{hub.url}/user/ada/ironlaw/export")
        assert "events" not in answer.text() and "/hub/login" in answer.url


@pytest.fixture(autouse=True, scope="module")
def said(hub: Hub) -> Iterator[None]:
    yield
    assert "Traceback" not in (hub.folder / "log").read_text(), (hub.folder / "log").read_text()[-6000:]
