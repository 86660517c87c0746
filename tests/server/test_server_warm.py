"""What a server computes before anybody asks: each lab is opened once for nobody, and what a lab wants in advance is begun."""

import threading
from types import SimpleNamespace

import pytest
from test_server_gallery import LAB, put, words

from ironlaw.labs.lab_01_magnitude import models
from ironlaw.pages.lab_catalogue import LABS, find
from ironlaw.server import lab_routes, start_server


def test_a_lab_of_ours_is_opened_and_what_it_wants_in_advance_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(models, "warm", lambda: begun.append("models"))
    lab_routes.prepare(find("lab_01_magnitude", LABS), ours=True)
    assert "models" in begun


def test_a_lab_that_breaks_holds_up_no_other(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "lab_01_broken", LAB, words("Broken"))
    put(tmp_path / "lab_02_whole", LAB, words("Whole"))
    tried: list[str] = []

    def prepare(lab, ours):
        tried.append(lab.slug)
        assert not ours  # a folder of the user's: its modules are not looked through
        if "broken" in lab.slug:
            raise RuntimeError("it does not open")

    monkeypatch.setattr(lab_routes, "prepare", prepare)
    lab_routes.Labs(tmp_path).warm()
    assert tried == ["lab_01_broken", "lab_02_whole"]


def test_the_first_visitor_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_server, "PAUSE_S", 0.0)
    visited, warmed = threading.Event(), threading.Event()
    app = SimpleNamespace(state=SimpleNamespace(first_visit=visited, labs=SimpleNamespace(warm=warmed.set)))
    background = threading.Thread(target=start_server.warm, args=(app,), daemon=True)
    background.start()
    assert not warmed.wait(0.05)
    visited.set()
    assert warmed.wait(60)
    background.join(60)
    assert not background.is_alive()
