"""The process that a Jupyter server's proxy starts, as the proxy would speak to it."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

from ironlaw.server import hub_server, idle

SECRET = "s" * 43


def test_the_process_listens_for_its_user_alone_and_comes_back_after_a_pause(tmp_path: Path):
    place = tmp_path / "socket"  # as the proxy would: by hand, over the socket
    environment = {
        **os.environ,
        "IRONLAW_HOME": str(tmp_path),
        hub_server.SECRET: SECRET,
        hub_server.BASE: "/user/ada/ironlaw",
        idle.VARIABLE: "0.0005",
    }

    def ask() -> bytes:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(120)
            sock.connect(str(place))
            sock.sendall(b"GET /lab/x/health HTTP/1.0\r\nhost: hub\r\nx-ironlaw-proxy: " + SECRET.encode() + b"\r\n\r\n")
            return b"".join(iter(lambda: sock.recv(4096), b""))

    command = [sys.executable, "-P", "-m", "ironlaw.server.hub_server", str(place)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        while not place.exists() and process.poll() is None:
            time.sleep(0.02)
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert ask().endswith(b"here\n")
        assert ask().endswith(b"here\n")  # the first labs have ended after 30 ms, or are about to
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
