"""What the start page can do to the ledger and the server: name, export, import, reset, stop.

Each is a form of our own page: the guard lets only our Origin send one, and a token that no other page can read must
come with it.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from html import escape
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ironlaw import command
from ironlaw.errors import BadValue, IronlawError
from ironlaw.pages.records import Keeper
from ironlaw.server import pages

LONGEST_NAME = 80
LARGEST = 20 * 2**20  # bytes of an import: a whole course is under one million, and JSON takes thirty times its size while it is read
STALE = "ironlaw was restarted since this page was opened. The page is up to date now; please try again."

TOO_LARGE = f"That is more than {LARGEST >> 20} MiB; choose an export of ironlaw, or import it with `ironlaw ledger import FILE`."

Show = Callable[..., Response]


class Actions:
    """The routes of the actions. `show(message=…, wrong=…)` draws the start page; `stop()` ends the server, where the page can."""

    def __init__(self, keeper: Keeper, token: str, show: Show, stop: Callable[[], None] | None) -> None:
        self.keeper, self.token, self.show, self.stop = keeper, token, show, stop

    def routes(self) -> list[Route]:
        acts = {"name": self.name, "import": self.take_in, "reset": self.reset, **({"stop": self.end} if self.stop else {})}
        return [
            Route("/export", self.export),
            *(Route(f"/do/{name}", self.guarded(name, act), methods=["POST"]) for name, act in acts.items()),
        ]

    def guarded(self, place: str, act: Callable[[Any], Response]) -> Callable[[Request], Any]:
        """Reads the form, requires the token, and puts a refusal beside the control that caused it."""

        async def endpoint(request: Request) -> Response:
            if int(request.headers.get("content-length") or 0) > LARGEST:
                return await run_in_threadpool(self.show, wrong={place: TOO_LARGE})
            try:
                async with request.form(max_files=1, max_fields=8) as form:
                    if not hmac.compare_digest(str(form.get("token", "")).encode(), self.token.encode()):
                        return await run_in_threadpool(self.show, wrong={"general": STALE})
                    fields = {key: await value.read() if hasattr(value, "read") else value for key, value in form.items()}
            except ClientDisconnect:
                return Response(status_code=400)  # the upload broke off, and nobody is there to read this
            try:
                return await run_in_threadpool(act, fields)
            except IronlawError as error:
                return await run_in_threadpool(self.show, wrong={place: str(error)})

        return endpoint

    def name(self, form: dict[str, Any]) -> Response:
        name = " ".join(str(form.get("name", "")).split())
        if len(name) > LONGEST_NAME:
            raise BadValue(f"that name has {len(name)} characters; use at most {LONGEST_NAME}")
        self.keeper.open().set_learner_name(name)
        return back("named" if name else "unnamed")

    def export(self, request: Request) -> Response:
        try:
            data = self.keeper.export()
        except IronlawError as error:
            return pages.problem("The export was not made", "", str(error), 503)
        headers = {
            "content-disposition": f'attachment; filename="ironlaw-ledger-{data["exported"][:10]}.json"',
            "cache-control": "no-store",
        }
        return Response(json.dumps(data, ensure_ascii=False, indent=1), media_type="application/json", headers=headers)

    def take_in(self, form: dict[str, Any]) -> Response:
        from ironlaw.ledger.export_text import parse  # the ledger is not imported before it is needed

        content = form.get("file") or b""
        if not content:
            raise BadValue("choose a file first: the JSON that export gave you")
        try:
            data = parse(content)
        except (ValueError, RecursionError) as error:
            raise BadValue(f"that file can't be read as JSON ({str(error)[:200]}); choose one that export gave you") from None
        return back("imported", self.keeper.open().import_(data))

    def reset(self, form: dict[str, Any]) -> Response:
        self.keeper.start_over()
        return back("reset")

    def end(self, form: dict[str, Any]) -> Response:
        start = escape(command.line("labs"))
        text = f"<p>Everything you committed is saved. To open the labs again, type <code>{start}</code> in a terminal.</p>"
        response = pages.page("message.html", title="ironlaw has stopped", body=text)
        if self.stop is not None:
            response.background = BackgroundTask(self.stop)
        return response


def back(action: str, count: int | None = None) -> Response:
    """A redirect to the start page by GET, so that a reload does not do it again."""
    return RedirectResponse(f"/?said={action}" + ("" if count is None else f"&n={count}") + "#you", 303)
