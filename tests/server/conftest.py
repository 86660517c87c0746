"""The app without a socket, spoken to as a browser on this machine would."""

import pytest
import quick_commits  # noqa: F401
from starlette.testclient import TestClient

from ironlaw.kit import background
from ironlaw.server.app import create_app

background.allowed.clear()  # a test builds what it asks for


@pytest.fixture(scope="session")
def client() -> TestClient:
    return TestClient(create_app(), base_url="http://127.0.0.1:2718")
