"""This lab as a notebook: `marimo run lab.py` opens it. What it is made of is in its acts and words; see docs/write-a-lab.md."""

from ironlaw.kit import needs_marimo  # noqa: F401, I001  says what to install where marimo is missing
import marimo

app = marimo.App(width="full", app_title="Lab 07 · The Kernel Fusion Dividend")


@app.cell
def page():
    from ironlaw.kit.notebook import show

    show("lab_07_fusion")
