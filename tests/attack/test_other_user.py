"""Another user of the same machine: what the port, the process table and the files give away. Needs root, who can be anybody."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import soak
from labs_entry import TOKEN, header

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534
RANDOM = """
import os
os.environ.pop("IRONLAW_LABS_TOKEN")
from ironlaw.server import serve
serve(port=0, open_browser=False)
"""
AS_NOBODY = """
import sys, urllib.request, urllib.error
for line in sys.stdin.read().splitlines():
    method, url = line.split()
    request = urllib.request.Request(url, method=method, headers={"Origin": url.split("/", 3)[0] + "//" + url.split("/")[2]})
    try:
        with urllib.request.urlopen(request, timeout=180) as response:
            print(response.status, response.read()[:20000])
    except urllib.error.HTTPError as error:
        print(error.code, error.read()[:20000])
"""

pytestmark = pytest.mark.skipif(not ROOT, reason="only root can act as another user; the door itself is tested in tests/server")


def as_nobody(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    bare = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(  # setpriv by another name
        command, check=False, user=NOBODY, group=NOBODY, extra_groups=[], input=text, capture_output=True, text=True, env=bare, cwd="/"
    )


@pytest.fixture
def python() -> str:
    """One that another user may run."""
    for name in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if os.access(name, os.X_OK) and as_nobody(name, "-c", "import urllib.request").returncode == 0:
            return name
    raise RuntimeError("no python3 that user nobody may run: sudo apt-get install -y python3")


def test_another_user_gets_nothing_through_the_port(tmp_path: Path, python: str):
    with soak.serving(IRONLAW_HOME=str(tmp_path), IRONLAW_LEDGER="") as server:
        assert b"<h1>ironlaw</h1>" in server.get("/")
        places = ["/", "/export", "/explore", "/api/registry", "/lab/lab_01_magnitude/", "/lab/lab_01_magnitude/sse?session_id=s_1"]
        asked = [f"GET {server.url}{place}" for place in places]
        asked += [f"POST {server.url}/do/{act}" for act in ("name", "reset", "import", "stop")]
        answers = as_nobody(python, "-c", AS_NOBODY, text="\n".join(asked)).stdout.splitlines()
        assert [answer[:3] for answer in answers] == ["403"] * len(asked)
        everything = "".join(answers)
        assert not re.search(r"/do/reset|Magnitude|learner|name=\\?\"token\\?\" value", everything) and TOKEN not in everything
        assert b"/do/reset" in server.get("/")  # and it is still there for its owner


def test_the_secret_is_neither_in_the_process_table_nor_in_a_file_of_theirs(tmp_path: Path, python: str):
    with soak.serving(RANDOM, IRONLAW_HOME=str(tmp_path), IRONLAW_LEDGER="") as server:
        (kept,) = tmp_path.rglob("*.token")
        secret = kept.read_text()
        assert len(secret) >= 32 and server.url
        look = "import glob\nfor name in glob.glob('/proc/[0-9]*/cmdline'):\n  print(open(name,'rb').read())"
        table = as_nobody(python, "-c", look).stdout
        assert str(os.getpid()) and "python" in table and secret not in table
        os.chmod(tmp_path, 0o755)
        for place in (kept, *tmp_path.glob("ledger.db*")):
            assert as_nobody("/bin/cat", str(place)).returncode != 0, place
    assert not kept.exists()
    assert header(server.url)  # the tests' own token was not in use here
