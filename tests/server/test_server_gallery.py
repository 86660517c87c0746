"""The start page: labs, progress from the ledger, and what its forms do."""

import json
import re
import sqlite3
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ironlaw.cli.labs import known
from ironlaw.errors import LedgerUnavailable, UnknownName
from ironlaw.ledger import open_ledger
from ironlaw.pages.lab_catalogue import catalogue, read, resolve
from ironlaw.pages.records import Records, standings
from ironlaw.registry.loader import folder
from ironlaw.server.app import create_app

OURS = {"origin": "http://127.0.0.1:2718"}
LAB = """from types import SimpleNamespace

from ironlaw.kit.cell import Cell


def open(folder):
    return SimpleNamespace(states=lambda: ())


CELLS = [Cell("hello", lambda lab: "hello")]
"""


class Stopped:
    """Counts how often the server was asked to stop."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def labs(tmp_path: Path) -> Path:
    """A folder with two labs that open, and some that can't."""
    folder = tmp_path / "labs"
    for slug, title in (("lab_01_first", "First things"), ("lab_02_second", "Second <thoughts> & more")):
        put(folder / slug, LAB, words(title))
    put(folder / "lab_03_syntax", "x = (", words("Syntax"))
    put(folder / "lab_04_wordless", LAB, None)
    put(folder / "lab_05_empty", LAB, "")
    put(folder / "lab_06_nothing", None, words("Nothing"))
    put(folder / "lab_08_bytes", LAB.encode() + b"\xff\xfe", words("Bytes"))
    put(folder / "lab_09_timeless", LAB, words("Timeless"), "[lab]\n")
    put(folder / "lab_10_sheet", LAB, words("Sheet"), "[lab")
    put(folder / "_template", LAB, words("Template"))
    return folder


def words(title: str) -> str:
    return f"For authors.\n\n## title\n{title}\n\n## sentence\nWhat it is **good** for, `D/BW` and\n[more](x).\n\n## other\nNot shown.\n"


def put(folder: Path, lab: str | bytes | None, text: str | None, sheet: str = "[lab]\nnumber = 1\nminutes = 35\n") -> None:
    folder.mkdir(parents=True)
    (folder / "questions.toml").write_text(sheet, "utf-8")
    if lab is not None:
        for name in ("lab.py", "cells.py"):
            (folder / name).write_bytes(lab.encode() if isinstance(lab, str) else lab)
    if text is not None:
        (folder / "words.md").write_text(text, "utf-8")


@pytest.fixture
def stopped() -> Stopped:
    return Stopped()


@pytest.fixture
def page(labs: Path, stopped: Stopped) -> TestClient:
    return TestClient(create_app(stopped, labs), base_url="http://127.0.0.1:2718")


def card(html: str, slug: str) -> str:
    return re.search(rf'<li class="lab[^"]*" id="{slug}">.*?</li>', html, re.S)[0]


def token(page: TestClient) -> str:
    return re.search(r'name="token" value="([^"]+)"', page.get("/").text)[1]


def act(page: TestClient, action: str, /, files=None, headers=OURS, **fields):
    return page.post(f"/do/{action}", data={"token": token(page), **fields}, files=files, headers=headers, follow_redirects=False)


# --- this machine ---


def machine(page: TestClient) -> str:
    return re.sub(r"<[^>]+>", " ", re.search(r'<div class="lab[^"]*" id="machine">.*?</div></div>', page.get("/").text, re.S)[0])


def test_this_machine_and_how_to_measure_it(page: TestClient, ironlaw_home: Path):
    assert "not measured yet" in machine(page) and "ironlaw measure" in machine(page)
    place = ironlaw_home / "hardware" / "this_machine.toml"
    place.parent.mkdir()
    place.write_text((folder("hardware") / "laptop_cpu.toml").read_text().replace("AMD Ryzen 7", "<Ryzen> 7", 1))
    told = machine(page)
    assert "measured on 2023-05" in told and "1.69 TFLOP/s in BF16" in told and "89.6 GB/s from memory" in told and "bounds" in told
    assert "<Ryzen>" not in page.get("/").text
    assert any(m["slug"] == "this_machine" for m in page.get("/api/registry").json()["machines"])  # without a restart
    asked = {"workload": "mlp8_1024", "hardware": "this_machine", "dtype": "fp32"}
    before = page.get("/api/predict", params=asked).json()["hardware"]["bandwidth"]
    place.write_text(place.read_text().replace("89.6 GB/s", "44.8 GB/s"))
    assert (before, page.get("/api/predict", params=asked).json()["hardware"]["bandwidth"]) == (89.6e9, 44.8e9)
    place.write_text("damaged = ")
    assert "can’t be read" in machine(page) and "ironlaw measure" in machine(page)
    assert not any(m["slug"] == "this_machine" for m in page.get("/api/registry").json()["machines"])


# --- the labs ---


def test_labs_in_order_with_what_they_teach(page: TestClient):
    html = page.get("/").text
    assert re.findall(r'<li class="lab[^"]*" id="(\w+)"', html)[:3] == ["lab_01_first", "lab_02_second", "lab_03_syntax"]
    assert "_template" not in html
    first = card(html, "lab_01_first")
    assert 'href="/lab/lab_01_first/"' in first
    assert all(text in first for text in ("Lab 01", "First things", "What it is good for, D/BW and more.", "35 min", "not started"))
    assert "Second &lt;thoughts&gt; &amp; more" in card(html, "lab_02_second")


def test_volumes_have_a_heading_and_a_path_of_their_own(page: TestClient, labs: Path):
    assert "Volume" not in page.get("/").text  # one alone needs no name
    for slug in ("lab_v2_02_wires", "lab_v2_05_later", "lab_v2_06_sooner", "lab_v2_99_last", "review"):
        put(labs / slug, LAB, words(slug.capitalize()))
    html = page.get("/").text
    places = [
        html.index(text) for text in ("Volume 1: One machine", 'id="lab_01_first"', "Volume 2: Many machines", 'id="lab_v2_02_wires"')
    ]
    assert places == sorted(places) and html.count('<ol class="labs">') == 3
    assert re.findall(r'id="(lab_v2_\d+)\w*"', html) == ["lab_v2_02", "lab_v2_06", "lab_v2_05", "lab_v2_99"]  # as designs are handed on
    assert html.index("In between") > html.index("lab_v2_99") and html.index("In between") < html.index('id="review"')
    assert "Lab V2-02" in card(html, "lab_v2_02_wires")
    for name in ("lab_v2_02_wires", "v2_02", "V2-02", "v2-2", "Lab V2-02", "wires"):
        assert resolve(name, labs).slug == "lab_v2_02_wires", name
    assert resolve("02", labs).slug == "lab_02_second"


@pytest.mark.parametrize(
    ("slug", "says"),
    [
        ("lab_03_syntax", "line 1"),
        ("lab_04_wordless", "words.md is missing"),
        ("lab_05_empty", "title"),
        ("lab_06_nothing", "lab.py is missing"),
        ("lab_08_bytes", "lab.py"),
        ("lab_09_timeless", "minutes"),
        ("lab_10_sheet", "lab_10_sheet"),
    ],
)
def test_a_broken_lab_says_why_and_the_page_goes_on(page: TestClient, slug: str, says: str):
    response = page.get("/")
    assert response.status_code == 200
    found = card(response.text, slug)
    assert "can’t be opened" in found
    assert says in found
    assert "href" not in found
    opened = page.get(f"/lab/{slug}/")
    assert opened.status_code == 500
    assert says in opened.text
    assert 'href="/"' in opened.text


def test_a_lab_that_was_changed_since_is_read_again(labs: Path):
    folder = labs / "lab_77_changed"
    put(folder, "def broken(:\n", words("Before"))
    assert "line 1" in read(folder).error
    (folder / "lab.py").write_text("", "utf-8")
    assert read(folder).title == "Before"
    (folder / "words.md").write_text(words("After and longer"), "utf-8")
    assert read(folder).title == "After and longer"
    (folder / "words.md").unlink()
    assert "words.md is missing" in read(folder).error


def test_a_lab_that_does_not_exist(page: TestClient):
    response = page.get("/lab/no_such_lab/")
    assert response.status_code == 404
    assert "no_such_lab" in response.text


def test_the_packages_own_labs_can_all_be_opened():
    assert [lab.slug for lab in catalogue() if lab.folder and lab.error] == []


def test_names_that_people_give(labs: Path):
    for name in ("lab_01_first", "01", "1", "lab-01", "lab01", "first", "Lab 01"):
        assert resolve(name, labs).slug == "lab_01_first", name
    assert resolve("review").slug == "review"
    assert resolve("no_such_lab", labs) is None
    assert resolve("", labs) is None


def test_the_command_line_opens_a_lab_by_number():
    assert known("01") == "lab_01_magnitude"
    assert known("review") == "review"
    with pytest.raises(UnknownName, match="magnitude"):
        known("magnitudes")


# --- progress ---


def test_progress_follows_the_ledger(page: TestClient):
    ledger = open_ledger()

    def state() -> str:
        return re.search(r'class="state">([^<]*)<', card(page.get("/").text, "lab_01_first"))[1]

    assert state() == "not started"
    ledger.append("lab_01_first", "opened", {})
    assert state() == "Act I, opened"
    ledger.commit_prediction("lab_01_first", "act1", 1, 10, 4, False)
    assert state() == "Act I, prediction committed"
    ledger.append("lab_01_first", "reflection", {"question": "act1", "choice": "a", "correct": True})
    assert state() == "Act II, begins"
    ledger.commit_prediction("lab_01_first", "act2", 1, 10, 4, True)
    assert state() == "Act II, prediction committed"
    ledger.append("lab_01_first", "reflection", {"question": "act2", "choice": "a", "correct": True})
    assert state() == "Act II, reflection answered"
    saved = ledger.append("lab_01_first", "design", {"a": 1})
    assert state() == f"complete, saved {saved.time[:10]}"
    ledger.commit_prediction("lab_01_first", "act1", 1, 10, 4, False, attempt=2)
    assert state().startswith("complete")


def test_continue_where_you_left(page: TestClient):
    ledger = open_ledger()

    def resumed() -> tuple[str, str]:
        found = re.search(r'class="resume" href="([^"]+)"><span><small>([^<]+)', page.get("/").text)
        return found[1], found[2]

    assert resumed() == ("/lab/lab_01_first/", "Begin here")
    ledger.append("lab_02_second", "opened", {})
    assert resumed() == ("/lab/lab_02_second/", "Continue where you left off")
    ledger.append("lab_01_first", "opened", {})
    assert resumed() == ("/lab/lab_01_first/", "Continue where you left off")
    ledger.append("lab_01_first", "design", {})
    assert resumed()[0] == "/lab/lab_02_second/"
    ledger.append("lab_02_second", "design", {})
    assert 'class="resume"' not in page.get("/").text


def test_a_lab_that_is_gone_is_not_offered(page: TestClient):
    open_ledger().append("lab_99_gone", "opened", {})
    assert "lab_99_gone" not in page.get("/").text


def test_a_clock_that_was_ahead_once_does_not_decide_where_you_left(monkeypatch: pytest.MonkeyPatch):
    ledger = open_ledger()
    monkeypatch.setattr("ironlaw.ledger.ledger.now", lambda: "2031-06-01T00:00:00.000000Z")
    ledger.append("lab_01_first", "opened", {})
    monkeypatch.undo()
    ledger.append("lab_02_second", "opened", {})
    assert Records(labs=standings(ledger.events())).newest() == "lab_02_second"
    ledger.append("lab_01_first", "reflection", {"question": "act1_reflection", "choice": "a", "correct": True})
    assert standings(ledger.events())["lab_01_first"].words == "Act II, begins"


# --- the forms ---


def test_name(page: TestClient):
    assert act(page, "name", name="  Ada   Lovelace ").headers["location"] == "/?said=named#you"
    html = page.get("/?said=named").text
    assert 'value="Ada Lovelace"' in html
    assert "Welcome back, Ada Lovelace." in html
    assert "Your name is saved" in html
    act(page, "name", name='"><script>alert(1)</script>')
    assert "<script>alert" not in page.get("/").text
    act(page, "name", name="")
    assert "Welcome back" not in page.get("/").text
    assert open_ledger().learner_name() is None


def test_a_name_that_is_too_long_stays_beside_its_control(page: TestClient):
    response = act(page, "name", name="x" * 81)
    assert response.status_code == 400
    assert re.search(r'id="name-error"[^>]*>[^<]*81 characters', response.text)


def test_export_then_import_elsewhere(page: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labs: Path):
    open_ledger().commit_prediction("lab_01_first", "act1", 1, 10, 4, False)
    response = page.get("/export")
    assert re.fullmatch(r'attachment; filename="ironlaw-ledger-\d{4}-\d\d-\d\d\.json"', response.headers["content-disposition"])
    assert response.json()["events"][0]["kind"] == "prediction"
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "elsewhere"))
    other = TestClient(create_app(labs_folder=labs), base_url="http://127.0.0.1:2718")
    for count, says in ((1, "1 new event."), (0, "Nothing was new")):
        done = act(other, "import", files={"file": ("e.json", response.content, "application/json")})
        assert done.headers["location"] == f"/?said=imported&n={count}#you"
        assert says in other.get(done.headers["location"]).text
    assert "prediction committed" in other.get("/").text


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "choose a file"), (b"not json", "read as JSON"), (b'{"a": 1}', "format"), (b"\xff\xfe\x00", "read as JSON")]
)
def test_what_is_no_export_is_refused_beside_its_control(page: TestClient, content: bytes, says: str):
    response = act(page, "import", files={"file": ("e.json", content, "application/json")})
    assert response.status_code == 400
    assert says in re.search(r'id="import-error"[^>]*>([^<]*)', response.text)[1]


def test_reset_keeps_everything(page: TestClient):
    ledger = open_ledger()
    ledger.append("lab_01_first", "opened", {})
    assert "Nothing is deleted" in page.get("/").text
    assert act(page, "reset").headers["location"] == "/?said=reset#you"
    html = page.get("/?said=reset").text
    assert "A new epoch has begun" in html
    assert "not started" in card(html, "lab_01_first")
    assert [event["kind"] for event in page.get("/export").json()["events"]] == ["opened", "reset"]


def test_stop(page: TestClient, stopped: Stopped):
    response = act(page, "stop")
    assert response.status_code == 200
    assert "ironlaw labs" in response.text
    assert stopped.times == 1


@pytest.mark.parametrize("name", ["name", "import", "reset", "stop"])
def test_no_other_page_can_act(page: TestClient, stopped: Stopped, name: str):
    for headers in ({}, {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:8080"}):
        assert act(page, name, headers=headers, name="Eve").status_code == 403
    for wrong in ("", "x" * 32):
        response = page.post(f"/do/{name}", data={"token": wrong, "name": "Eve"}, headers=OURS)
        assert response.status_code == 400
        assert "restarted since this page was opened" in response.text
    assert page.post(f"/do/{name}", content=b"\xff", headers=OURS).status_code == 400
    assert stopped.times == 0
    assert open_ledger().history() == []


def test_the_address_can_make_the_page_say_nothing_of_its_own(page: TestClient):
    html = page.get("/?said=<b>hello</b>&n=<i>").text
    assert "hello" not in html
    assert 'class="said"' not in html
    assert 'class="said"' not in page.get("/?said=imported&n=many").text


# --- when the ledger can't be read ---


def test_a_ledger_that_fails_is_said_and_the_labs_stay(page: TestClient, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise LedgerUnavailable("the disk is <full>; free some space")

    with monkeypatch.context() as patch:  # undoing all would undo the home of the tests too
        patch.setattr("ironlaw.ledger.open_ledger", fail)
        html = page.get("/").text
        assert "The disk is &lt;full&gt;; free some space." in html and "sets the file aside" not in html
        assert 'href="/lab/lab_01_first/"' in html
        assert "progress not known" in html
        assert page.get("/export").status_code == 503
        assert "free some space" in act(page, "reset").text
    assert "progress not known" not in page.get("/").text


def test_a_fault_of_ours_leaves_the_way_to_export_and_reset(page: TestClient, monkeypatch: pytest.MonkeyPatch):
    open_ledger().append("lab_01_first", "opened", {})
    monkeypatch.setattr("ironlaw.pages.records.standings", lambda events: 1 / 0)
    html = page.get("/").text
    assert "ZeroDivisionError" in html and "Your progress can’t be read" in html and 'href="/export"' in html
    assert [event["kind"] for event in page.get("/export").json()["events"]] == ["opened"]
    assert act(page, "reset").status_code == 303
    monkeypatch.undo()
    assert "not started" in card(page.get("/").text, "lab_01_first")


def test_a_fault_anywhere_is_a_page_with_the_way_out(labs: Path, monkeypatch: pytest.MonkeyPatch):
    page = TestClient(create_app(labs_folder=labs), base_url=OURS["origin"], raise_server_exceptions=False)
    monkeypatch.setattr("ironlaw.server.app.every_lab", lambda folder: 1 / 0)
    answer = page.get("/")
    assert answer.status_code == 500 and "ZeroDivisionError" in answer.text and "content-security-policy" in answer.headers
    assert 'href="/export"' in answer.text and 'href="/#reset"' in answer.text


def test_a_ledger_that_was_damaged_is_set_aside_and_the_page_says_so(page: TestClient, ironlaw_home: Path):
    with open_ledger() as ledger:
        for lab in ("lab_01_first", "lab_02_second"):
            ledger.append(lab, "opened", {})
    connection = sqlite3.connect(ironlaw_home / "ledger.db")
    connection.execute("DROP TRIGGER ironlaw_events_no_delete")
    connection.execute("DELETE FROM ironlaw_events WHERE seq = 1")
    connection.commit()
    connection.close()
    for _ in range(2):
        html = page.get("/").text
        assert "Something happened to your ledger" in html and "ledger.db.broken-" in html
    assert "Act I, opened" in card(html, "lab_02_second") and "not started" in card(html, "lab_01_first")


def test_a_ledger_that_can_t_be_read_can_be_begun_anew(page: TestClient, ironlaw_home: Path):
    (ironlaw_home / "ledger.db").write_bytes(b"x" * 9000)
    assert "Your progress can’t be read" in page.get("/").text
    assert act(page, "reset").status_code == 303
    assert "Your progress can’t be read" not in page.get("/").text
    assert [found.read_bytes() for found in ironlaw_home.iterdir() if ".broken-" in found.name] == [b"x" * 9000]


def test_where_the_data_lies(page: TestClient, ironlaw_home: Path):
    assert str(ironlaw_home / "ledger.db") in page.get("/").text
    assert json.loads(page.get("/export").text)["events"] == []


def test_the_certificate_is_linked_shown_and_downloaded(ironlaw_home):
    client = TestClient(create_app(), base_url="http://127.0.0.1:2718")  # the session's holds the ledger of another test open
    assert 'href="/certificate"' in client.get("/").text
    assert "Nothing has been committed yet" in client.get("/certificate").text
    with open_ledger() as ledger:
        ledger.commit_prediction("lab_01_magnitude", "act1", "e6", 1e6, 4, True)
        head = ledger.export()["chain"]["head"]
    page, file = client.get("/certificate"), client.get("/certificate.json")
    with open_ledger() as ledger:
        hashes = [event["hash"] for event in ledger.export()["events"]]
    since = hashes[hashes.index(head) :]  # a lab that is opened meanwhile makes the chain longer
    assert page.status_code == 200 and "Lab 01 · " in page.text and "10⁶" in page.text
    assert any(each in page.text for each in since), (since, page.text)
    assert "ironlaw-certificate-" in file.headers["content-disposition"] and file.json()["chain"]["head"] in since
    (ironlaw_home / "ledger.db").write_bytes(b"not a ledger")
    broken = create_app()
    with TestClient(broken, base_url="http://127.0.0.1:2718") as fresh:
        for address in ("/certificate", "/certificate.json"):
            answer = fresh.get(address)
            assert answer.status_code == 503 and "No certificate." in answer.text
