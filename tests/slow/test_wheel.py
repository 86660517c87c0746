"""The wheel in an empty environment, as someone who has only pip would meet it: no checkout, no Node, and a lab opens."""

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

ROOT = Path(__file__).parent.parent.parent
LAB = "lab_01_magnitude"
PATIENCE = 120  # seconds
LOGS: dict[str, queue.Queue[str]] = {}  # what a server at an address has said and nobody has read yet


def run(*command: object, cwd: Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False, env=bare())
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def bare(**more: str) -> dict[str, str]:
    """The environment without the checkout in it."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")} | more


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("ironlaw-*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`ironlaw`, installed with its dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("env")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
    return folder / "bin" / "ironlaw"


@contextmanager
def serving(program: Path, home: Path) -> Iterator[str]:
    environment = bare(
        IRONLAW_HOME=str(home), PATH=str(program.parent), PYTHONUNBUFFERED="1"
    )  # nothing else is in PATH: no Node, no compiler
    command = [program, "labs", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in server.stdout or ()], daemon=True).start()
    try:
        said = lines.get(timeout=PATIENCE)
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        LOGS[found[0]] = lines
        yield found[0]
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def url(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(program, tmp_path_factory.mktemp("home")) as found:
        yield found


def get(url: str) -> tuple[str, str]:
    """What is there, and which kind it is. A refusal tells what the page and the server said."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return response.read().decode("utf-8", "replace"), response.headers["content-type"]
    except urllib.error.HTTPError as error:
        page = error.read().decode("utf-8", "replace")
        raise AssertionError(f"{error.code} at {url}\n{page}\nthe server said:\n{said_by(url)}") from error


def said_by(url: str) -> str:
    """What the server of that address has said since it named itself."""
    lines = LOGS[re.match(r"http://[^/]+", url)[0]]
    time.sleep(1)  # its words come through a pipe, and may come after its answer
    return "".join(lines.get() for _ in range(lines.qsize()))


def test_everything_is_in_it(wheel: Path):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("ironlaw/")}
    source = ROOT / "src" / "ironlaw"
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {f"ironlaw/{path.as_posix()}" for path in wanted} - packed == set()
    lab = ("words.md", "questions.toml", "lab.py")
    for part in ("widget/css/theme.css", "widget/js/piece.js", "server/gallery.html", *(f"labs/{LAB}/{name}" for name in lab)):
        assert f"ironlaw/{part}" in packed
    assert not [name for name in packed if "node_modules" in name or "/tests/" in name]


def test_the_start_page_lists_the_lab(url: str):
    html, kind = get(url)
    assert kind.startswith("text/html")
    assert f'href="/lab/{LAB}/"' in html
    assert "can’t be opened" not in html


def test_a_lab_page_and_its_files(url: str):
    html, kind = get(f"{url}/lab/{LAB}/")
    assert kind.startswith("text/html")
    assert "__MARIMO_MOUNT_CONFIG__" in html
    theme, kind = get(url + re.search(r'href="(/theme/[^"]+)"', html)[1])
    assert kind.startswith("text/css")
    assert ".il-header" in theme
    script, kind = get(url + re.search(r'<script type="module"[^>]*src="([^"]+)"', html)[1])
    assert kind.startswith("text/javascript")
    assert len(script) > 1000


def run_of_the_lab(url: str) -> list[str]:
    """What the lab says on its socket until it has run."""
    get(f"{url}/lab/{LAB}/")
    seen: list[str] = []
    address = f"{url.replace('http', 'ws')}/lab/{LAB}/ws?session_id=s_wheel"
    try:
        with connect(address, origin=url, max_size=None, open_timeout=PATIENCE) as socket:
            while not seen or json.loads(seen[-1])["op"] != "completed-run":
                seen.append(str(socket.recv(timeout=PATIENCE)))
    except (OSError, WebSocketException) as error:
        raise AssertionError(f"{error!r} at {address}\nthe server said:\n{said_by(url)}") from error
    return seen


def test_the_lab_runs_and_brings_its_widget(url: str):
    seen = run_of_the_lab(url)
    said = "".join(seen)
    assert "application/vnd.marimo+error" not in said
    assert "il-header" in said
    script, kind = get(f"{url}/lab/{LAB}/{re.search(r'@file/[0-9]+-[A-Za-z0-9_-]+[.]js', said)[0]}")
    assert "javascript" in kind
    assert "export default" in script


def test_a_lab_opened_at_once_runs(program: Path, tmp_path: Path):
    """While the server is still importing what labs need (two threads inside one import once made both fail)."""
    with serving(program, tmp_path) as url:
        get(url)
        assert "il-header" in "".join(run_of_the_lab(url))
