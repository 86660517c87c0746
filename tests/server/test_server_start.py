"""The start page's picture: it comes from the engine, and the page does not wait for it."""

import re

from starlette.testclient import TestClient

from ironlaw.engine.device.roofline import roofline
from ironlaw.pages import first_picture
from ironlaw.pages.lab_catalogue import catalogue
from ironlaw.registry.machines import hardware


def test_the_page_says_why_what_it_takes_and_what_the_letters_mean(client: TestClient):
    page = client.get("/").text
    assert "Your GPU is idle most of the time." in page
    minutes = [lab.minutes for lab in catalogue() if lab.slug != "review"]
    assert f"{len(minutes)} labs, {min(minutes)} to {max(minutes)} minutes each, no account, no GPU." in page
    for letter in ("T", "D", "BW", "O", "R", "L"):
        assert f"<i>{letter}</i>" in re.search(r"<dl>.*?</dl>", page, re.DOTALL)[0]
    assert "150 min" not in page


def test_the_picture_is_the_engines(client: TestClient):
    page = client.get("/").text
    traits = client.get(re.search(r'data-traits="([^"]+)"', page)[1]).json()
    assert set(traits["views"]) == {str(tokens) for tokens in traits["spec"]["dials"][0]["steps"]}
    for tokens in (1, 256, 4096):
        work = first_picture.work(tokens)
        at = roofline(work.flops, work.bytes, hardware(first_picture.MACHINE), first_picture.FORMAT)
        waits = "waits for memory" in traits["views"][str(tokens)]["note"]
        assert waits == (at.regime == "memory")
        assert f'"x":{float(work.flops) / float(work.bytes)!r}'[:12] in traits["views"][str(tokens)]["figures"][0]
