"""Commands run through `main(argv)`, in this process: a few milliseconds each."""

from described import json_is_described  # noqa: F401
from shell import sh  # noqa: F401
