"""`python -m ironlaw.manual [FOLDER]`, which `make docs` runs."""

import sys
from pathlib import Path

from ironlaw.errors import IronlawError
from ironlaw.manual import build_docs

try:
    print(build_docs(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")) / "index.html")
except IronlawError as error:
    sys.exit(f"ironlaw: {error}")
