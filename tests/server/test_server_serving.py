"""`serve` as a user meets it: one line, a free port, a clean stop."""

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

import pytest

from ironlaw.errors import BadValue
from ironlaw.server import serving


class Served:
    """A server in a process of its own."""

    def __init__(self, port: int, lab: str = "") -> None:
        code = f"from ironlaw.server import serve; serve(port={port}, open_browser=False, lab={lab!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout], daemon=True).start()

    def line(self) -> str:
        return self.lines.get(timeout=60).strip()

    def stop(self, with_signal: int = signal.SIGINT) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(30)


@pytest.fixture
def served():
    running: list[Served] = []

    def start(port: int, lab: str = "") -> Served:
        running.append(Served(port, lab))
        return running[-1]

    yield start
    for server in running:
        server.process.kill()
        server.process.wait()


def test_says_where_and_stops_with_one_line(served):
    server = served(0)
    said = server.line()
    assert said.startswith("ironlaw labs: http://127.0.0.1:")
    url = said.split()[-1]
    with urllib.request.urlopen(url, timeout=30) as response:
        assert b"ironlaw" in response.read()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "evil.example"}), timeout=30)
    assert server.stop() == 0
    assert server.line() == "ironlaw labs: stopped"
    with pytest.raises(queue.Empty):
        server.lines.get(timeout=0.2)


def test_the_page_can_stop_it(served):
    server = served(0)
    url = server.line().split()[-1]
    with urllib.request.urlopen(url, timeout=30) as response:
        token = re.search(r'name="token" value="([^"]+)"', response.read().decode())[1]
    form = urllib.parse.urlencode({"token": token}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/do/stop", form, {"Origin": url}), timeout=30) as response:
        assert b"ironlaw has stopped" in response.read()
    assert server.process.wait(30) == 0
    assert server.line() == "ironlaw labs: stopped"


def test_ctrl_c_while_marimo_is_still_being_imported(served):
    server = served(0)
    server.line()
    assert server.stop() == 0
    assert server.line() == "ironlaw labs: stopped"
    with pytest.raises(queue.Empty):
        server.lines.get(timeout=0.2)


def test_a_lab_by_name_is_the_address_that_opens(served):
    assert served(0, "lab_01_magnitude").line().endswith("/lab/lab_01_magnitude/")


def test_a_taken_port_gives_way_to_the_next(served):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        server = served(taken)
        assert server.line().startswith(f"port {taken} is taken; using ")
        assert not server.line().endswith(f":{taken}")


def test_loopback_only():
    for host in ("0.0.0.0", "192.168.0.2", "example.org"):
        with pytest.raises(BadValue, match="loopback"):
            serving.listen(host, 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_no_such_port(port: int):
    with pytest.raises(BadValue, match="not a valid port"):
        serving.listen("127.0.0.1", port)


def test_any_free_port():
    with serving.listen("localhost", 0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"
        assert sock.getsockname()[1] > 0
