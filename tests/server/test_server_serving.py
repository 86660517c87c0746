"""`serve` as a user meets it: one line, a free port, a clean stop."""

import asyncio
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from ironlaw.errors import BadValue
from ironlaw.ledger import open_ledger
from ironlaw.server import secret, start_server
from ironlaw.server.door import Door


class Served:
    """A server in a process of its own, and a browser that keeps its cookie."""

    def __init__(self, port: int, lab: str = "", token: str | None = None, **environment: str) -> None:
        code = f"from ironlaw.server import serve; serve(port={port}, open_browser=False, lab={lab!r}, token={token!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
        )
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout], daemon=True).start()

    def line(self) -> str:
        return self.lines.get(timeout=180).strip()

    def enter(self) -> str:
        """The address, once the token in it was exchanged for the cookie."""
        address = self.line().split()[-1]
        self.get(address)
        return address.partition("/?")[0]

    def get(self, url: str) -> str:
        with self.browser.open(url, timeout=180) as response:
            return response.read().decode()

    def stop(self, with_signal: int = signal.SIGINT) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(180)


@pytest.fixture
def served(ctrl_c):
    running: list[Served] = []

    def start(port: int, *options: str, **environment: str) -> Served:
        running.append(Served(port, *options, **environment))
        return running[-1]

    yield start
    for server in running:
        server.process.kill()
        server.process.wait()


def test_says_where_and_stops_with_one_line(served):
    server = served(0)
    url = server.enter()
    assert url.startswith("http://127.0.0.1:")
    assert "<h1>ironlaw</h1>" in server.get(url)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "evil.example"}), timeout=180)
    assert server.stop() == 0
    assert server.line() == "ironlaw labs: stopped"
    with pytest.raises(queue.Empty):
        server.lines.get(timeout=0.2)


def test_the_page_can_stop_it(served):
    server = served(0)
    url = server.enter()
    token = re.search(r'name="token" value="([^"]+)"', server.get(url))[1]
    form = urllib.parse.urlencode({"token": token}).encode()
    with server.browser.open(urllib.request.Request(f"{url}/do/stop", form, {"Origin": url}), timeout=180) as response:
        assert b"ironlaw has stopped" in response.read()
    assert server.process.wait(180) == 0
    assert server.line() == "ironlaw labs: stopped"


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_leaves_its_events_in_one_file(served, tmp_path, with_signal):
    server = served(0, IRONLAW_HOME=str(tmp_path))
    url = server.enter()
    token = re.search(r'name="token" value="([^"]+)"', server.get(url))[1]
    form = urllib.parse.urlencode({"token": token, "name": "Ada"}).encode()
    server.browser.open(urllib.request.Request(f"{url}/do/name", form, {"Origin": url}), timeout=180).close()
    server.stop(with_signal)
    assert [path.name for path in tmp_path.glob("ledger.db*")] == ["ledger.db"]
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.learner_name() == "Ada"


def test_ctrl_c_while_the_labs_are_still_being_imported(served):
    server = served(0)
    server.line()
    assert server.stop() == 0
    assert server.line() == "ironlaw labs: stopped"
    with pytest.raises(queue.Empty):
        server.lines.get(timeout=0.2)


def test_a_lab_by_name_is_the_address_that_opens(served):
    assert "/lab/lab_01_magnitude/?token=" in served(0, "lab_01_magnitude").line()


def test_a_taken_port_gives_way_to_the_next(served):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        server = served(taken)
        assert server.line().startswith(f"port {taken} is taken; using ")
        assert f":{taken}/" not in server.line()


def test_the_secret_is_in_no_file_that_others_can_read_and_gone_after_a_stop(served, tmp_path: Path):
    server = served(0, IRONLAW_HOME=str(tmp_path))
    token = server.line().partition("token=")[2]
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert [path.suffix for path in holding] == [".token"]
    assert holding[0].stat().st_mode & 0o077 == 0 and holding[0].parent.stat().st_mode & 0o077 == 0
    assert server.stop(signal.SIGTERM) in (0, -signal.SIGTERM)
    assert not holding[0].exists()


def test_a_killed_server_comes_back_with_its_secret_and_a_stopped_one_with_another(served, tmp_path: Path):
    home = {"IRONLAW_HOME": str(tmp_path)}
    server = served(0, **home)
    first = server.line()
    port = int(re.search(r":(\d+)/", first)[1])
    server.process.kill()
    server.process.wait()
    server = served(port, **home)
    assert server.line() == first
    server.stop()
    assert served(port, **home).line() != first


def test_a_secret_comes_back_for_a_few_minutes_after_the_server_was_last_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A cookie that somebody caught at the empty port is worth nothing after that."""
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    first = secret.token(2718)
    file = tmp_path / "server" / "2718.token"
    began = file.stat().st_mtime - 200
    os.utime(file, (began, began))
    kept: list[float] = []

    async def once(seconds: float) -> None:
        kept.append(file.stat().st_mtime - began)
        file.unlink()

    monkeypatch.setattr(secret.asyncio, "sleep", once)
    asyncio.run(secret.keep_fresh(2718, first))
    assert len(kept) == 1 and kept[0] > 190  # a server that runs keeps it new
    assert secret.token(2718) != first
    again = secret.token(2718)
    assert secret.token(2718) == again
    late = file.stat().st_mtime - secret.AGAIN_S - 1
    os.utime(file, (late, late))
    assert secret.token(2718) != again


def test_no_token_is_said_aloud(served):
    server = served(0, "", "")
    assert server.line().startswith("warning: no token")
    assert "<h1>ironlaw</h1>" in server.get(server.line().split()[-1])


def test_a_chosen_token(served, monkeypatch: pytest.MonkeyPatch):
    assert served(0, IRONLAW_LABS_TOKEN="from-the-environment").line().endswith("/?token=from-the-environment")
    assert secret.token(0, "from-the-command-line") == "from-the-command-line"
    for bad in ("short", "white space in it is no good", "x" * 201, "ünïcödé-ünïcödé-ünïcödé"):
        with pytest.raises(BadValue, match="is not a valid token") as refused:
            secret.token(0, bad)
        assert bad not in str(refused.value)


def test_the_browser_is_opened_by_a_file_and_never_with_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    opened: list[str] = []
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    monkeypatch.setattr(start_server.webbrowser, "open", lambda url: opened.append(url) or True)
    monkeypatch.setattr(start_server, "ARRIVAL_S", 0.01)
    door = Door("a-long-enough-token")
    start_server.show_page(2718, "http://127.0.0.1:2718/?token=a-long-enough-token", door)
    (place,) = opened
    assert place.startswith("file://") and door.token not in place
    file = Path(urllib.request.url2pathname(place.removeprefix("file://")))
    assert door.token in file.read_text() and file.stat().st_mode & 0o077 == 0
    assert "paste the address above" in capsys.readouterr().out
    door.entered.set()
    start_server.show_page(2718, "http://127.0.0.1:2718/?token=a-long-enough-token", door)
    assert capsys.readouterr().out == ""


def test_loopback_only():
    for host in ("0.0.0.0", "192.168.0.2", "example.org"):
        with pytest.raises(BadValue, match="loopback"):
            start_server.listen(host, 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_no_such_port(port: int):
    with pytest.raises(BadValue, match="not a valid port"):
        start_server.listen("127.0.0.1", port)


def test_any_free_port():
    with start_server.listen("localhost", 0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"
        assert sock.getsockname()[1] > 0
