"""Commands run through `main(argv)`, in this process: a few milliseconds each."""

import quick_commits  # noqa: F401
from described import json_is_described  # noqa: F401
from shell import sh  # noqa: F401
