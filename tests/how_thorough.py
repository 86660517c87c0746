"""Whether all is tried or a sample of it: `make test` thins what is long, `make test-release` runs it whole."""

import os

RELEASE = os.environ.get("IRONLAW_TESTS") == "release"
