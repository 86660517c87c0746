"""The page in the browser: `serve()` starts it. Plain HTML, CSS and ES modules; nothing is loaded from elsewhere."""

from ironlaw.server.start_server import serve

__all__ = ["serve"]
