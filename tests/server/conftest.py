"""The app without a socket, spoken to as a browser on this machine would."""

import pytest
import quick_commits  # noqa: F401
from starlette.testclient import TestClient

from ironlaw.server.app import create_app


@pytest.fixture(scope="session")
def client() -> TestClient:
    return TestClient(create_app(), base_url="http://127.0.0.1:2718")
