"""The labs' server is replaced by one of another version under an open page: it comes back by itself, says so, and nothing is lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

from labs_entry import ENVIRONMENT, cookie
from playwright.sync_api import expect

from ironlaw.ledger import open_ledger

LAB = "lab_01_magnitude"
# Another version: other scripts at other addresses, and another number.
SERVE = """
import sys
from ironlaw.pages import page_templates
from ironlaw.server import serve
from ironlaw.widget import assets
if sys.argv[2] == "newer":
    page_templates.__version__ = "99.0.0"
    before = assets.script
    assets.script = lambda *names: before(*names) + "\\n// newer"
serve(port=int(sys.argv[1]), open_browser=False)
"""


def start(home: Path, port: int, version: str) -> tuple[subprocess.Popen[str], str]:
    environment = {**os.environ, **ENVIRONMENT, "IRONLAW_HOME": str(home)}
    environment.pop("IRONLAW_LEDGER", None)
    command = [sys.executable, "-c", SERVE, str(port), version]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]
    return process, address


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(60)
    process.stdout.close()


def widget(page) -> set[str]:
    return set(re.findall(r"/widget/([0-9a-f]{12})/", page.content()))


def test_a_server_of_another_version_takes_over_an_open_page(new_context, tmp_path):
    server, address = start(tmp_path, 0, "older")
    port = int(address.rpartition(":")[2])
    context = new_context()
    name, value = cookie(address)
    context.add_cookies([{"name": name, "value": value, "url": address}])
    page = context.new_page()
    try:
        page.goto(f"{address}/lab/{LAB}/")
        page.locator(".il-answer").nth(1).click()
        page.locator(".il-confidence label").nth(2).click()
        page.get_by_role("button", name="Commit my prediction").click()
        expect(page.locator(".il-seal").first).to_contain_text("Committed")
        expect(page.locator("#il-updated")).to_have_count(0)
        [old] = widget(page)
        stop(server)
        expect(page.locator("#il-lost")).to_contain_text("reconnects by itself")
        server, _ = start(tmp_path, port, "newer")
        expect(page.locator("#il-updated")).to_contain_text("updated", timeout=120_000)
        expect(page.locator(".il-seal").first).to_contain_text("Committed")
        [new] = widget(page)
        assert new != old
        assert page.request.get(f"{address}/widget/{old}/lab.js").status == 404  # the newer one has nothing at the older one's address
        assert page.request.get(f"{address}/widget/{new}/lab.js").ok
        page.reload()
        expect(page.locator(".il-seal").first).to_contain_text("Committed")
        expect(page.locator("#il-updated")).to_have_count(0)
    finally:
        stop(server)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert [event.payload["question"] for event in ledger.events(kind="prediction")] == ["act1"]
