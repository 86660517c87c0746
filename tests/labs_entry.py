"""How a test gets into a server of the labs: a token that it is started with, and the cookie that its own door would hand out."""

from urllib.parse import urlsplit

from ironlaw.server.door import Door, cookie_name
from ironlaw.server.secret import VARIABLE

TOKEN = "a-token-for-the-tests"
ENVIRONMENT = {VARIABLE: TOKEN}


def cookie(url: str, token: str = TOKEN) -> tuple[str, str]:
    """Name and value."""
    scope = {"server": ("127.0.0.1", urlsplit(url).port)}
    return cookie_name(scope), Door(token).cookie(scope)


def header(url: str, token: str = TOKEN) -> dict[str, str]:
    return {"Cookie": "=".join(cookie(url, token))}
