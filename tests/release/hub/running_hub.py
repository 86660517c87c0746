"""A real JupyterHub with ironlaw[hub] in it, and its proxy. The folder IRONLAW_TEST_HUB names keeps both from one run to the next."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PACKAGES = ("jupyterhub>=5,<7", "jupyterlab>=4,<5")
PROXY = "configurable-http-proxy@5"
PATIENCE = 180  # seconds: a loaded machine is slow, not wrong
CONFIG = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = {{"TMPDIR": "{folder}/sockets"}}
c.ConfigurableHTTPProxy.command = {proxy!r}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.pid_file = "{folder}/proxy.pid"
c.JupyterHub.services = [{{"name": "test", "api_token": "{token}"}}]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"], "scopes": ["admin:users", "admin:servers"]}}]

def pre_spawn(spawner):
    spawner.environment.update(json.loads({special!r}).get(spawner.user.name, {{}}))

import json
c.Spawner.pre_spawn_hook = pre_spawn
"""


class Hub:
    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder, self.url, self.token = folder, url, token

    def home(self, name: str) -> Path:
        return self.folder / "home" / name

    def asks(self, method: str, path: str) -> int:
        """The hub's own API, as its administrator."""
        request = urllib.request.Request(f"{self.url}/hub/api{path}", method=method, headers={"Authorization": f"token {self.token}"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self, name: str) -> None:
        """As a culler does; returns when the server has ended."""
        while self.asks("DELETE", f"/users/{name}/server") != 204:
            time.sleep(0.2)


def environment(folder: Path) -> Path:
    """Where the hub, JupyterLab and the proxy are installed; our own package is always the one of this checkout."""
    place = Path(os.environ.get("IRONLAW_TEST_HUB") or folder)
    python = place / "v" / "bin" / "python"
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def does(*command: Any) -> None:
        done = subprocess.run([*map(str, command)], cwd=place, env=inherited, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"

    place.mkdir(parents=True, exist_ok=True)
    if not python.exists():
        does(sys.executable, "-m", "venv", place / "v")
        does(python, "-m", "pip", "install", "-q", *PACKAGES, f"{ROOT}[hub]")
    does(python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", ROOT)
    if not (place / "node_modules" / ".bin" / "configurable-http-proxy").exists():
        assert shutil.which("npm"), "JupyterHub's proxy needs Node: install node and npm, then run this test again"
        does("npm", "install", "--no-fund", "--no-audit", PROXY)
    return place


@contextmanager
def running(folder: Path, special: dict[str, dict[str, str]]) -> Iterator[Hub]:
    """`special`: what a student's server has in its environment, by name."""
    place, token = environment(folder / "environment"), secrets.token_hex(32)
    (folder / "sockets").mkdir(mode=0o700)
    port, hub_port, api_port = free_ports(3)
    fill = {"port": port, "hub_port": hub_port, "api_port": api_port, "folder": folder, "token": token, "special": json.dumps(special)}
    proxy = [str(place / "node_modules" / ".bin" / "configurable-http-proxy")]
    (folder / "jupyterhub_config.py").write_text(CONFIG.format(proxy=proxy, **fill))
    programs = place / "v" / "bin"
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("IRONLAW", "PYTHON", "XDG", "VIRTUAL"))}
    command = [str(programs / "jupyterhub"), "--config", str(folder / "jupyterhub_config.py")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=inherited | {"PATH": f"{programs}:{os.environ['PATH']}"}, stdout=log, stderr=log
        )
    hub = Hub(folder, f"http://127.0.0.1:{port}", token)
    try:
        until = time.monotonic() + PATIENCE
        while not is_up(hub) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.3)
        assert is_up(hub), (folder / "log").read_text()[-4000:]
        yield hub
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()


def is_up(hub: Hub) -> bool:
    try:
        return hub.asks("GET", "/") == 200
    except OSError:
        return False


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
