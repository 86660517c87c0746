"""Pyodide's release for tests that run it: fetched once for this environment."""

import sys
from pathlib import Path

from ironlaw.site import runtime


def release() -> Path:
    kept = Path(sys.prefix) / "share" / "ironlaw" / f"pyodide-{runtime.VERSION}.tgz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        runtime.keep(runtime.download(), kept)
    return kept
