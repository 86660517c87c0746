"""This lab as a notebook: `marimo run lab.py` opens it. What it is made of is in its acts and words; see docs/write-a-lab.md."""

import marimo  # an extra: pip install 'ironlaw[notebook]'

app = marimo.App(width="full", app_title="Lab 15 · Fair to Whom?")


@app.cell
def page():
    from ironlaw.kit.notebook import show

    show("lab_15_parity")
