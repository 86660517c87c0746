"""A lab in marimo, or in any notebook that shows anywidgets: one widget, which is the page that the labs' server shows too.

    show("lab_07_fusion")

What the learner does reaches the page's host (page.py) as the trait `asked`; what changes on the page goes back as `answer`.
"""

from __future__ import annotations

import json
from typing import Any

import anywidget
import marimo as mo
import traitlets

from ironlaw.kit import shared_ledger
from ironlaw.kit.lab import folder
from ironlaw.kit.page import Page
from ironlaw.widget import assets


class LabWidget(anywidget.AnyWidget):
    """A text of JSON each way: `answer` is first the whole page, then what each act changed, with the number of the act."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    asked = traitlets.Unicode().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)

    def __init__(self, page: Page) -> None:
        self.page = page
        style = f"const STYLE = {json.dumps(assets.style())};\n"
        super().__init__(_esm=style + assets.script(assets.NOTEBOOK), _css=assets.theme(), answer=_text(page.shown()))
        self.observe(self._on_asked, names=["asked"])

    def _on_asked(self, change: Any) -> None:
        asked = json.loads(change["new"])
        if asked["piece"]:
            changes = self.page.act(asked["piece"], asked["state"])
        else:  # a page that is drawn again
            changes = self.page.shown()
        self.answer = _text({**changes, "number": asked["number"]})

    def close(self) -> None:
        super().close()
        self.page.close()


def page(name: str, ledger: Any = None) -> Page:
    """A lab's page on the learner's ledger, unless another is passed."""
    opened = Page(folder(name), ledger if ledger is not None else shared_ledger.shared_ledger())
    opened.open()
    return opened


def show(name: str, ledger: Any = None) -> Any:
    return mo.ui.anywidget(LabWidget(page(name, ledger)))


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
