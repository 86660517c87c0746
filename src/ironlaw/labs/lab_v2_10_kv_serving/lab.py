"""This lab as a notebook: `marimo run lab.py` opens it. What it is made of is in its acts and words; see docs/write-a-lab.md."""

import marimo  # an extra: pip install 'ironlaw[notebook]'

app = marimo.App(width="full", app_title="Lab V2-10 · Who Fits, and Who Waits")


@app.cell
def page():
    from ironlaw.kit.notebook import show

    show("lab_v2_10_kv_serving")
