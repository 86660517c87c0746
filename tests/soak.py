"""Many pages opened and left again, as a browser would but without one; what the server holds before and after."""

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
from labs_entry import ENVIRONMENT, header
from websockets.sync.client import connect

FULL = os.environ.get("IRONLAW_ATTACK") == "full"
OPENINGS = 300 if FULL else 12  # a thread or a descriptor for each would be twice what `grown` allows
FIRST = 100 if FULL else 10  # by then what is made once is made; at full length the allocator has its pools as well
AT_ONCE = 3
PATIENCE = 180.0  # seconds
SHORT = """
from ironlaw.kit import background
from ironlaw.server import serve
from ironlaw.server import start_server as serving
serving.warm = lambda app: None  # nothing is prepared in the background, in the middle of counting
background.allowed.clear()
serve(port=0, open_browser=False)
"""
LABS = ("lab_01_magnitude", "lab_07_fusion", "lab_11_roofline", "lab_12_amdahl", "review")


class Server:
    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url, self.one = process, url, psutil.Process(process.pid)

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers=header(self.url))
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.read()

    def visit(self, lab: str) -> None:
        """Open a lab's page, wait until it has run, and leave."""
        self.get(f"/lab/{lab}/")
        place = f"{self.url.replace('http', 'ws', 1)}/lab/{lab}/ws"
        with connect(place, origin=self.url, additional_headers=header(self.url), max_size=None) as socket:
            assert json.loads(socket.recv(timeout=PATIENCE))["cells"]

    def held(self) -> dict[str, float]:
        """Memory in MiB, threads and descriptors."""
        return {"MiB": self.one.memory_info().rss / 2**20, "threads": self.one.num_threads(), "descriptors": self.one.num_fds()}


@contextmanager
def serving(code: str = SHORT, **environment: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **ENVIRONMENT, **environment, "MALLOC_ARENA_MAX": "2"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout or ()], daemon=True).start()
    try:
        yield Server(process, re.search(r"http://127\.0\.0\.1:\d+", lines.get(timeout=PATIENCE))[0])
    finally:
        process.terminate()
        process.wait(PATIENCE)


def visits(server: Server, first: int, count: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda number: server.visit(LABS[number % len(LABS)]), range(first, first + count)))


def settled(held: Callable[[], dict[str, float]], quiet: float = 2.0) -> dict[str, float]:
    """What is held once threads and descriptors have not become fewer for a while."""
    lowest, since, end = held(), time.monotonic(), time.monotonic() + PATIENCE
    while time.monotonic() - since < quiet and time.monotonic() < end:
        time.sleep(0.2)
        now = held()
        if any(now[what] < lowest[what] for what in now if what != "MiB"):
            since = time.monotonic()
        lowest = {what: min(now[what], lowest[what]) for what in now}
    return lowest


def soak(server: Server, openings: int = OPENINGS, held: Callable[[], dict[str, float]] | None = None) -> tuple[dict, dict]:
    """What is held after the first pages, and after many more."""
    held = held or server.held
    visits(server, 0, FIRST)
    before = settled(held)
    visits(server, FIRST, openings)
    return before, settled(held)


def grown(before: dict[str, float], after: dict[str, float]) -> dict[str, tuple[float, float]]:
    """What is more than a tenth above where it was; a few threads and descriptors come and go with requests."""
    slack = {"MiB": 0, "threads": 6, "descriptors": 6, "connections": 2}
    return {what: (before[what], after[what]) for what in before if after[what] > 1.1 * before[what] + slack[what]}
