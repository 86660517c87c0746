"""The release recipe of docs/release.md, command by command: what it builds starts in an empty environment, and a lab opens.

As someone meets it who has only pipx: no checkout, no Node.
"""

import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from labs_entry import ENVIRONMENT, header
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

ROOT = Path(__file__).parent.parent.parent
LAB = "lab_01_magnitude"
PATIENCE = 300  # seconds: a loaded machine is slow, not wrong
INSTALLING = 900  # seconds that pipx may take to install the wheel with its dependencies
LOGS: dict[str, queue.Queue[str]] = {}  # what a server at an address has said and nobody has read yet


def bare(**more: str) -> dict[str, str]:
    """The environment without the checkout in it; and the release tests run already, so `make release` need not begin with them."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return inherited | {"IRONLAW_TESTS": "release"} | more


def recipe() -> tuple[str, str]:
    """The page's two commands between the version and the tag: build, and start what was built."""
    page = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    build, start = re.findall(r"^```sh\n(.+)\n```$", page, re.MULTILINE)
    return build, start


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, built by the recipe's first command. Its .venv is this one by another name, so that none is installed."""
    copy = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, arguments in (("python", ""), ("pipx", "-m pipx")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (programs / name).chmod(0o755)
    project = hashlib.sha256((copy / "pyproject.toml").read_bytes()).hexdigest()
    (copy / ".venv" / ".ironlaw.json").write_text(json.dumps({"root": str(copy), "project": project, "extras": ["release"]}))
    done = subprocess.run(["bash", "-c", recipe()[0]], cwd=copy, capture_output=True, text=True, check=False, env=bare())
    assert done.returncode == 0, f"{recipe()[0]}\n{done.stdout}\n{done.stderr}"
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    (built,) = (checkout / "dist").glob("ironlaw-*.whl")
    return built


@contextmanager
def serving(checkout: Path, home: Path) -> Iterator[str]:
    """The recipe's second command. Nothing is in PATH: no Node, no compiler. pipx keeps what it installs beside the copy."""
    (home / "nothing").mkdir(exist_ok=True)
    environment = bare(
        **ENVIRONMENT, IRONLAW_HOME=str(home), PATH=str(home / "nothing"), PYTHONUNBUFFERED="1", PIPX_HOME=str(checkout.with_name("pipx")),
        PIPX_BIN_DIR=str(checkout.with_name("pipx-bin")), PIPX_DEFAULT_BACKEND="pip",
        PIP_NO_COMPILE="1",  # what is imported is compiled then; most of it never is
    )  # fmt: skip
    command = [shutil.which("bash"), "-c", f"exec {recipe()[1]}"]
    server = subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in server.stdout or ()], daemon=True).start()
    try:
        address = first_address(lines)
        LOGS[address] = lines
        yield address
    finally:
        server.terminate()
        server.wait(PATIENCE)


def first_address(lines: queue.Queue[str]) -> str:
    """What the server prints once pipx has installed it."""
    seen: list[str] = []
    deadline = time.monotonic() + INSTALLING
    while time.monotonic() < deadline:
        with suppress(queue.Empty):
            seen.append(lines.get(timeout=1))
            address = re.search(r"http://127\.0\.0\.1:\d+", seen[-1])
            if address:
                return address[0]
    raise AssertionError(f"no address within {INSTALLING} s:\n{''.join(seen)}")


@pytest.fixture(scope="module")
def url(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(checkout, tmp_path_factory.mktemp("home")) as address:
        yield address


def get(url: str) -> tuple[str, str]:
    """What is there, and which kind it is. A refusal tells what the page and the server said."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=header(url)), timeout=PATIENCE) as response:
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
    for part in ("widget/css/theme.css", "widget/js/piece.js", "pages/gallery.html", *(f"labs/{LAB}/{name}" for name in lab)):
        assert f"ironlaw/{part}" in packed
    assert not [name for name in packed if "node_modules" in name or "/tests/" in name]


def test_the_sdist_is_the_repository_without_traces(checkout: Path):
    (archive,) = (checkout / "dist").glob("ironlaw-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "src/ironlaw/__init__.py", "tests/conftest.py"} <= names
    assert not [name for name in names if re.search(r"(^|/)(\.venv|\.git|__pycache__|dist|node_modules)(/|$)", name)]


def test_the_start_page_lists_the_lab(url: str):
    html, kind = get(url)
    assert kind.startswith("text/html")
    assert f'href="/lab/{LAB}/"' in html
    assert "can’t be opened" not in html


def test_a_lab_page_and_its_files(url: str):
    html, kind = get(f"{url}/lab/{LAB}/")
    assert kind.startswith("text/html")
    assert html.count('class="il-cell"') > 10
    themes = [get(url + place) for place in re.findall(r'href="(/theme/[^"]+)"', html)]
    assert themes and all(kind.startswith("text/css") for _, kind in themes)
    assert any(".il-header" in theme for theme, _ in themes)
    script, kind = get(url + re.search(r'<script [^>]*type="module"[^>]*src="([^"]+)"', html)[1])
    assert kind.startswith("text/javascript")
    assert len(script) > 1000


def run_of_the_lab(url: str) -> dict[str, Any]:
    """What the lab says on its socket when it has run."""
    get(f"{url}/lab/{LAB}/")
    address = f"{url.replace('http', 'ws')}/lab/{LAB}/ws"
    try:
        with connect(address, origin=url, additional_headers=header(url), max_size=None, open_timeout=PATIENCE) as socket:
            shown: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE))
    except (OSError, WebSocketException) as error:
        raise AssertionError(f"{error!r} at {address}\nthe server said:\n{said_by(url)}") from error
    return shown


def test_the_lab_runs_and_brings_its_widget(url: str):
    shown = run_of_the_lab(url)
    assert "il-header" in shown["cells"]["header"] and shown["pieces"]
    assert not any("could not be shown" in cell for cell in shown["cells"].values())
    html, _ = get(f"{url}/lab/{LAB}/")
    script, kind = get(url + re.search(r'"(/widget/\w+/lab\.js)"', html)[1])
    assert "javascript" in kind and "serveLab(" in script


def test_a_lab_opened_at_once_runs(checkout: Path, tmp_path: Path):
    """While the server is still importing what labs need (two threads inside one import once made both fail)."""
    with serving(checkout, tmp_path) as url:
        get(url)
        assert "il-header" in run_of_the_lab(url)["cells"]["header"]
