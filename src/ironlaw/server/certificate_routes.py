"""The certificate's addresses: the page, and the same facts as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ironlaw.errors import IronlawError
from ironlaw.pages.lab_catalogue import every_lab
from ironlaw.pages.records import Keeper
from ironlaw.server import pages
from ironlaw.version import __version__


def routes(keeper: Keeper, labs: Path) -> list[BaseRoute]:
    def issue() -> dict[str, Any]:
        from ironlaw.recall.certificate_facts import issue  # brings the cards, which the start page need not wait for

        return issue(keeper.open().export(), __version__)

    def show(request: Request) -> Response:
        from ironlaw.pages import certificate_page

        try:
            return pages.response(certificate_page.page(issue(), every_lab(labs)))
        except IronlawError as error:
            return pages.response(certificate_page.trouble(str(error)), 503)

    def download(request: Request) -> Response:
        from ironlaw.pages import certificate_page

        try:
            issued = issue()
        except IronlawError as error:
            return pages.response(certificate_page.trouble(str(error)), 503)
        headers = {"content-disposition": f'attachment; filename="{certificate_page.file_name(issued)}"', "cache-control": "no-store"}
        return Response(certificate_page.text(issued), media_type="application/json", headers=headers)

    return [Route("/certificate", show), Route("/certificate.json", download)]
