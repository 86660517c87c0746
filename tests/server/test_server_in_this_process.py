"""Servers that run here until Ctrl-C: the class's page, the labs behind a hub's proxy, and what waits for a learner to connect."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ironlaw.classroom import class_live
from ironlaw.errors import BadValue, MissingExtra
from ironlaw.server import class_server, hub_server, idle, log_lines, request_limits, secret, start_server
from ironlaw.server.door import Door

SECRET = "s" * 43


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, ctrl_c: None) -> None:
    """What a server does to its whole process is not done to the tests'."""
    monkeypatch.setattr(request_limits, "allow_descriptors", lambda pages: pages)
    monkeypatch.setattr(log_lines, "say_each_once", lambda: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)


class Visitor(threading.Thread):
    """Asks what it is given in a thread, then presses Ctrl-C."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.ask, self.answer = ask, None

    def run(self) -> None:
        try:
            self.answer = self.ask()
        finally:
            os.kill(os.getpid(), signal.SIGINT)


class Nobody:
    """A class that nobody has handed anything in to."""

    def look(self) -> None:
        raise BadValue("there is no folder yet; make one")


def test_the_class_page_is_served_with_its_script_and_style_until_ctrl_c(alone: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    said: list[str] = []
    visitors: list[Visitor] = []
    opened: list[tuple[Any, ...]] = []
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    monkeypatch.setattr(class_live.sheets, "installed", set)
    monkeypatch.setattr(class_server, "has_display", lambda: True)
    monkeypatch.setattr(class_server, "show_page", lambda *asked: opened.append(asked))

    def say(text: str) -> None:
        said.append(text)
        if "http" in text:
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            url = text.rsplit(maxsplit=1)[-1]
            base = url.partition("/?")[0]
            asked = (url, f"{base}/", f"{base}/live.js", f"{base}/live.css")
            visitors.append(Visitor(lambda: [browser.open(one, timeout=60).read().decode() for one in asked]))
            visitors[0].start()

    monkeypatch.setattr(class_server, "say", say)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        class_server.serve(Nobody(), names=False, port=port)
    visitors[0].join(60)
    assert visitors[0].answer[1:] == [class_live.page(), class_live.script(), class_live.css()]
    actual = opened[0][0]
    assert said[0] == f"port {port} is taken; using {actual}" and said[1].startswith(
        f"ironlaw class live: http://127.0.0.1:{actual}/?token="
    )
    assert said[2:] == ["ironlaw class live: stopped"] and opened[0][1] == said[1].split()[-1]
    assert secret.left_behind(actual) is None  # a clean stop forgets the secret


def test_the_labs_behind_a_proxy_answer_who_has_its_secret_and_keep_it_from_what_they_start(
    alone: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    warmed = threading.Event()
    monkeypatch.setattr(start_server, "warm", lambda app: warmed.set())
    monkeypatch.setenv(hub_server.SECRET, SECRET)
    monkeypatch.setenv(hub_server.BASE, "/user/ada/ironlaw")
    place = tmp_path / "socket"
    place.write_text("of a server that was killed")

    def ask(secret: str) -> bytes:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(60)
            sock.connect(str(place))
            sock.sendall(f"GET /lab/x/health HTTP/1.0\r\nhost: hub\r\nx-ironlaw-proxy: {secret}\r\n\r\n".encode())
            return b"".join(iter(lambda: sock.recv(4096), b""))

    visitor = Visitor(lambda: [ask(SECRET), ask("x")])
    with hub_server.listen(str(place)) as sock:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        visitor.start()
        assert hub_server.main(["--on", str(os.dup(sock.fileno()))]) == 0
    visitor.join(60)
    assert visitor.answer[0].endswith(b"here\n") and b" 403 " in visitor.answer[1].partition(b"\r\n")[0]
    assert warmed.wait(60) and hub_server.SECRET not in os.environ


def test_labs_that_can_t_start_say_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv(idle.VARIABLE, "soon")
    with socket.socket(socket.AF_UNIX) as sock:
        assert hub_server.main(["--on", str(os.dup(sock.fileno()))]) == 2
    assert capsys.readouterr().err.startswith(f"ironlaw: {idle.VARIABLE}=soon is not a number of minutes")


class Labs:
    """Labs that fail at first, and are ended by a signal the second time they run."""

    started: ClassVar[list[Any]] = []

    def __init__(self, command: list[str], pass_fds: list[int]) -> None:
        self.asked, self.ended = (command[3:], pass_fds), 0
        self.started.append(self)

    def wait(self, seconds: float | None = None) -> int:
        if seconds is not None:
            raise subprocess.TimeoutExpired("labs", seconds)
        if len(self.started) == 2:
            signal.raise_signal(signal.SIGTERM)
        return 1

    def terminate(self) -> None:
        self.ended += 1


def test_whoever_connects_starts_the_labs_and_a_signal_ends_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)]
    slept: list[float] = []
    times = iter([10.0, 10.5, 20.0])
    monkeypatch.setattr(hub_server, "subprocess", SimpleNamespace(Popen=Labs, TimeoutExpired=subprocess.TimeoutExpired))
    monkeypatch.setattr(hub_server, "time", SimpleNamespace(monotonic=lambda: next(times), sleep=slept.append))
    monkeypatch.setenv(hub_server.SECRET, SECRET)
    monkeypatch.setattr(Labs, "started", [])
    place = str(tmp_path / "socket")
    listened = hub_server.listen

    def listen(path: str) -> socket.socket:
        sock = listened(path)
        learner.connect(path)
        return sock

    monkeypatch.setattr(hub_server, "listen", listen)
    try:
        with socket.socket(socket.AF_UNIX) as learner, pytest.raises(SystemExit) as ended:
            hub_server.main([place])
    finally:
        for one, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(one, handler)
    assert ended.value.code == 0 and slept == [hub_server.PATIENCE_S - 0.5]
    first, second = Labs.started
    assert (first.ended, second.ended) == (0, 1) and first.asked == second.asked
    (words, descriptors) = first.asked
    assert words == ["ironlaw.server.hub_server", "--on", str(descriptors[0])]


def test_a_signal_before_anybody_connects(monkeypatch: pytest.MonkeyPatch):
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)]
    monkeypatch.setattr(hub_server, "select", SimpleNamespace(select=lambda *sockets: signal.raise_signal(signal.SIGINT)))
    with pytest.raises(SystemExit):
        hub_server.wait_and_start(socket.socket())
    for one, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
        signal.signal(one, handler)


@pytest.mark.parametrize("serve", [start_server.serve, lambda: class_server.serve(Nobody(), False, 0)])
def test_without_uvicorn_it_says_what_to_install(serve: Callable[[], None], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"the page needs uvicorn; install it with: pip install starlette uvicorn"):
        serve()


@pytest.mark.parametrize(
    ("number", "message"), [(errno.EADDRINUSE, "no free port from 7000 to 7050"), (errno.EADDRNOTAVAIL, "cannot listen on ::1 port 7000: ")]
)
def test_an_address_that_can_t_be_listened_on(number: int, message: str, monkeypatch: pytest.MonkeyPatch):
    tried: list[int] = []

    class Socket(socket.socket):
        def bind(self, address: Any) -> None:
            tried.append(address[1])
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(start_server.socket, "socket", Socket)
    with pytest.raises(BadValue, match=message):
        start_server.listen("::1", 7000)
    assert tried == (list(range(7000, 7051)) if number == errno.EADDRINUSE else [7000])


def test_a_browser_where_there_is_no_secret_and_where_its_file_can_t_be_written(monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    monkeypatch.setattr(start_server.webbrowser, "open", opened.append)
    start_server.show_page(2718, "http://127.0.0.1:2718/", Door(""))
    assert opened == ["http://127.0.0.1:2718/"]

    def full(port: int, url: str) -> Path:
        raise OSError("the disk is full")

    monkeypatch.setattr(secret, "redirect_file", full)
    start_server.show_page(2718, "http://127.0.0.1:2718/?token=a", Door("a-long-enough-token"))
    assert len(opened) == 1


def test_a_display_is_what_a_browser_needs(monkeypatch: pytest.MonkeyPatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(start_server.sys, "platform", "linux")
    assert not start_server.has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert start_server.has_display()
