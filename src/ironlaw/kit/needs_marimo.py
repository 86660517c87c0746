"""Imported by a lab's notebook before marimo, so that whoever lacks it is told what to install."""

from importlib.util import find_spec

if find_spec("marimo") is None or find_spec("anywidget") is None:
    raise SystemExit("a lab as a notebook needs marimo: pip install 'ironlaw[notebook]'. Without it: ironlaw labs")
