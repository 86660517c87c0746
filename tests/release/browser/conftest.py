"""The browser and the servers of tests/browser."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "browser"))
from browser_fixtures import *  # noqa: F403
from stalls import *  # noqa: F403
