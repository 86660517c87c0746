"""The site's page for an address that has none, as a plain host shows it: below any folder, its links find the site."""

import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ironlaw.site.listing import MARK, NOT_FOUND
from ironlaw.site.serve import server
from ironlaw.site.shells import pages


@pytest.mark.parametrize("folder", ["", "course/ironlaw/"])
def test_it_leads_back_from_any_depth(page: Page, tmp_path: Path, folder: str) -> None:
    site = tmp_path / folder
    site.mkdir(parents=True, exist_ok=True)
    (site / MARK).write_text("{}")
    (tmp_path / NOT_FOUND).write_text(pages("/assets")[NOT_FOUND], "utf-8")
    with server(tmp_path, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        try:
            root = f"http://127.0.0.1:{running.server_port}/{folder}"
            page.goto(f"{root}labs/x/y")
            expect(page).to_have_title("ironlaw: There is no such page")
            expect(page.get_by_role("link", name="All labs")).to_have_attribute("href", root)
            expect(page.get_by_role("link", name="Glossary")).to_have_attribute("href", f"{root}glossary/")
        finally:
            running.shutdown()
