"""pytest finds its fixtures and hooks here."""

from browser_fixtures import *  # noqa: F403
from stalls import *  # noqa: F403
