"""How JupyterLab and JupyterHub find the labs: jupyter-server-proxy calls `server()`, by the entry point `jupyter_serverproxy_servers`.

The Jupyter server has checked who is asking before its proxy passes a request on. That it was the proxy is proved by a secret, new for
every Jupyter server, which no browser sees; the process gets it in its environment, which other users can't read.
"""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.pages.page_templates import STATIC
from ironlaw.server.behind_proxy import HEADER
from ironlaw.server.hub_server import BASE, SECRET

NAME = "ironlaw"
START_S = 60  # a cold disk under a class that begins at the same minute


def server() -> dict[str, Any]:
    """The proxy's configuration: https://jupyter-server-proxy.readthedocs.io/en/latest/server-process.html"""
    if os.name != "posix":
        raise BadValue("behind Jupyter the labs need a UNIX socket, which this system lacks; open them with: ironlaw labs")
    secret = secrets.token_urlsafe(32)
    return {
        "command": [sys.executable, "-P", "-m", "ironlaw.server.hub_server", "{unix_socket}"],
        "environment": {SECRET: secret, BASE: f"{{base_url}}{NAME}"},
        "request_headers_override": {HEADER.decode(): secret},
        "unix_socket": True,
        "timeout": START_S,
        "new_browser_tab": True,
        "launcher_entry": {"title": "ironlaw labs", "icon_path": str(STATIC / "icon.svg"), "path_info": f"{NAME}/"},
    }
