"""`ironlaw class live`: what arrives is read once, what is half there is waited for, and only who has the secret sees the page."""

import os
import time

import pytest
from made_class import export, plan, text
from starlette.testclient import TestClient

from ironlaw.classroom import class_live, following
from ironlaw.classroom.following import Folder
from ironlaw.errors import BadValue
from ironlaw.server.class_server import create_app


def put(folder, number, content=None):
    (folder / f"{number}.json").write_text(text(export(plan(number))) if content is None else content, encoding="utf-8")


@pytest.fixture
def source(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(following, "read", lambda path, name, *more, _read=following.read: read.append(name) or _read(path, name, *more))
    one = Folder(tmp_path, 600.0)
    one.reads = read
    return one


def test_only_what_changed_is_read(source, tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 2)
    assert source.look() and source.reads == ["1.json", "2.json"]
    assert not source.look() and len(source.reads) == 2
    put(tmp_path, 3)
    assert source.look() and source.reads[2:] == ["3.json"] and len(source.hand_ins().ledgers) == 3
    (tmp_path / "1.json").unlink()
    assert source.look() and len(source.reads) == 3 and len(source.hand_ins().ledgers) == 2


def test_a_half_written_file_is_waited_for_and_a_broken_one_named(source, tmp_path):
    whole = text(export(plan(1)))
    put(tmp_path, 1, whole[: len(whole) // 2])
    assert not source.look() and not source.hand_ins().refused
    put(tmp_path, 1)
    assert source.look() and len(source.hand_ins().ledgers) == 1
    put(tmp_path, 1, whole[:100])  # handed in again, and half there: the earlier one counts meanwhile
    assert not source.look() and len(source.hand_ins().ledgers) == 1
    os.utime(tmp_path / "1.json", (1e9, 1e9))  # nobody has written to it for long
    assert source.look() and [one.kind for one in source.hand_ins().refused] == ["truncated"]


def test_the_page_names_nobody_unless_asked_and_goes_on(source, tmp_path):
    page = class_live.Following(source, names=False)
    page.look()
    assert "there are no files" not in page.shown.html and page.shown.version == 1
    for number in range(3):
        put(tmp_path, number)
    page.look()
    assert page.shown.version == 2 and "Where learners stop" in page.shown.html and "Learner 0" not in page.shown.html
    page.look()
    assert page.shown.version == 2
    named = class_live.Following(Folder(tmp_path, 600.0), names=True)
    named.look()
    assert "Learner 001" in named.shown.html
    page.source.folder = tmp_path / "gone"
    page.look()
    assert page.shown.version == 3 and "there is no folder" in page.shown.html and "Where learners stop" in page.shown.html
    with pytest.raises(BadValue):
        page.source.look()


def test_labs_are_read_before_the_first_file_and_it_rests_by_processor_time(source, monkeypatch):
    """Otherwise the first file on a busy machine would stand alone for minutes."""
    read, waits, clock = [], [], iter([0.0, 3.0])
    monkeypatch.setattr(class_live.sheets, "installed", lambda: {"lab_b", "lab_a"})
    monkeypatch.setattr(class_live.sheets, "sheet", read.append)
    page = class_live.Following(source, names=False, clock=clock.__next__)
    page.stopped.wait = lambda seconds: (waits.append(seconds), page.stopped.set())
    page.run()
    assert read == ["lab_a", "lab_b"] and waits == [12.0] and page.shown.version == 1
    assert class_live.Following(source, names=False).clock is time.thread_time


def test_the_page_is_for_who_has_the_secret(source, tmp_path):
    put(tmp_path, 1)
    page = class_live.Following(source, names=False)
    page.look()
    app = create_app(page, "a-secret-of-a-class")
    with TestClient(app, base_url="http://127.0.0.1:2728", follow_redirects=False) as client:
        assert client.get("/live.json").status_code == 403 and "ironlaw class live" in client.get("/").text
        assert client.get("/?token=a-secret-of-a-class").status_code == 200
        news = client.get("/live.json?version=0").json()
        assert news == {"version": 1, "html": page.shown.html} and client.get("/live.json?version=1").json()["html"] is None
        policy = client.get("/").headers["content-security-policy"]
        assert "script-src" not in policy and "default-src 'self'" in policy
        assert client.get("/", headers={"host": "evil.example:2728"}).status_code == 403
