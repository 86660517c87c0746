"""The built site on this machine: its own page for what is not there, one line that says where, and the labs opened ahead."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from ironlaw.errors import BadValue
from ironlaw.pages.lab_catalogue import every_lab
from ironlaw.site import serve, warm
from ironlaw.site.listing import NOT_FOUND
from ironlaw.widget import direct_answers


def status_and_text(url, method="GET"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as answer:
            return answer.status, answer.headers["content-type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read().decode()


def test_what_is_not_there_has_the_sites_own_page(tmp_path):
    (tmp_path / "index.html").write_text("the site")
    (tmp_path / "x.mjs").write_text("1")
    with serve.server(tmp_path, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{running.server_port}/"
        assert status_and_text(base)[::2] == (200, "the site") and status_and_text(f"{base}x.mjs")[1] == "text/javascript"
        assert "File not found" in status_and_text(f"{base}nothing")[2]  # a folder without such a page
        (tmp_path / NOT_FOUND).write_text("no such page here")
        assert status_and_text(f"{base}nothing") == (404, "text/html; charset=utf-8", "no such page here")
        assert status_and_text(f"{base}nothing", "HEAD")[2] == "" and "Unsupported method" in status_and_text(base, "PUT")[2]
        running.shutdown()


def test_it_says_where_and_ends_with_ctrl_c(tmp_path, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(serve.ThreadingHTTPServer, "serve_forever", interrupted)
    serve.serve(tmp_path, 0)
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_or_none(tmp_path):
    with serve.server(tmp_path, 0) as running, pytest.raises(BadValue, match="choose another: --port 0 takes any that is free"):
        serve.server(tmp_path, running.server_port)
    with pytest.raises(BadValue, match="cannot listen on port 70000"):
        serve.server(tmp_path, 70_000)


def test_every_lab_and_page_is_opened_once_for_somebody_else_each_time(monkeypatch):
    asked, learners, spared = [], [], []

    class Desk:
        def __init__(self, owner, rows, root):
            learners.append((json.loads(owner)["learner"], json.loads(rows)))

        def ask(self, text):
            direct_answers.PIECES["left by a page"] = None
            asked.append(json.loads(text))

    monkeypatch.setattr(warm, "Desk", Desk)
    monkeypatch.setattr(direct_answers, "PIECES", {})
    monkeypatch.setattr(direct_answers, "spare_collector", lambda: spared.append(dict(direct_answers.PIECES)))
    warm.warm()
    assert [one["lab"] for one in asked if one["do"] == "open"] == [lab.slug for lab in every_lab()]
    assert [one for one in asked if one["do"] != "open"] == [{"do": "start"}, {"do": "certificate"}, {"do": "explore", "query": []}]
    assert len(set(map(str, learners))) == len(asked) and all(rows == [] for _, rows in learners)
    assert spared == [{}]  # nothing of these pages stays
