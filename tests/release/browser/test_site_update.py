"""A site is updated while a browser has the earlier one: pages offline, pages that stay open, and a host that is halfway through."""

import os
import re
import threading
import time

import pytest

from ironlaw.site import bundle, runtime
from ironlaw.site.build_site import build
from ironlaw.site.serve import Files, ThreadingHTTPServer

PAGES = ("", "explore/", "certificate/", "glossary/", "lab/lab_01_magnitude/")
# Pages register the worker themselves, but only once Python runs, and these sites have none.
UPDATE = """async (address) => {
  const registration = await navigator.serviceWorker.register(address);
  if (registration.active) await registration.update().catch(() => {});
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  for (let i = 0; i < 500 && !["activated", "redundant"].includes(worker.state); i += 1) await new Promise((done) => setTimeout(done, 20));
  return worker.state;
}"""
MISSING = """async () => {
  const addresses = [...document.querySelectorAll("script[src], link[rel=stylesheet]")].map((part) => part.src ?? part.href);
  const answers = await Promise.all(addresses.map((address) => fetch(address).then(({ ok }) => ok, () => false)));
  return addresses.filter((_, i) => !answers[i]);
}"""
FETCHED = "(address) => fetch(address).then(({ ok }) => ok, () => false)"
CACHES = "async () => (await caches.keys()).filter((name) => name.startsWith('ironlaw http')).length"


class Host(Files):
    """One that lets browsers keep its files for ten minutes, as GitHub's pages do."""

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def do_GET(self):
        folder = self.server.folder_of(self.path)
        if folder is None:
            self.close_connection = True
        else:
            self.directory = str(folder)
            super().do_GET()


class Course:
    """A host with a site on it, and a browser that has opened nothing of it yet."""

    def __init__(self, serving, places, context):
        self.serving, self.places, self.context = serving, places, context
        self.address = f"http://127.0.0.1:{serving.server_port}/course/"
        self.put("first")

    def put(self, version, but_not=lambda path: False):
        """All of this version but those files, which are as in the first one."""
        self.serving.folder_of = lambda path: self.places["first" if but_not(path) else version]

    def go_offline(self):
        self.serving.folder_of = lambda path: None

    def open(self, place="glossary/", page=None):
        page = page or self.context.new_page()
        page.goto(self.address + place)
        return page

    def update(self, page):
        return page.evaluate(UPDATE, f"{self.address}sw.js")

    def script(self, version):
        [path] = self.places[version].glob("course/assets-*/worker.js")
        return f"{self.address}{path.parent.name}/worker.js"


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Two versions of a site, by name: other scripts, so that every page but the glossary names another folder."""
    built = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "files", lambda given: {name: name.encode() for name in runtime.FILES})
        for version in ("first", "second"):
            patch.setattr(bundle, "archive", version.encode)
            built[version] = tmp_path_factory.mktemp(version)
            build(built[version] / "course")
    for path in built["second"].rglob("*"):
        os.utime(path, (time.time() + 60,) * 2)  # a host tells files apart by whole seconds
    return built


@pytest.fixture
def course(places, new_context):
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield Course(serving, places, new_context())
        serving.shutdown()


def version_of(page):
    """The folder of the page's scripts."""
    return re.search(r"assets-\w{12}", page.content()).group()


def test_after_an_update_every_page_opens_offline_in_the_new_version(course):
    page = course.open()
    assert course.update(page) == "activated"
    for place in PAGES:
        course.open(place, page)
    course.put("second")
    assert course.update(course.open(page=page)) == "activated"
    course.go_offline()
    for place in PAGES:
        course.open(place, page)
        assert page.evaluate(MISSING) == [], place
        assert place == "glossary/" or version_of(page) in course.script("second"), place


def test_an_open_page_keeps_its_files_until_it_is_closed(course):
    old = course.open("explore/")
    course.update(old)
    course.put("second")
    new = course.open("explore/")
    assert course.update(new) == "activated"
    for offline in (False, True):
        if offline:
            course.go_offline()
        for page, version in ((old, "first"), (new, "second")):
            assert version_of(page) in course.script(version)
            assert page.evaluate(FETCHED, course.script(version)), (offline, version)
        assert new.evaluate(CACHES) == 2
        assert course.open("explore/", new).evaluate(MISSING) == []
    old.close()
    for _ in range(2):
        course.open("explore/", new)
    new.wait_for_function(f"async () => (await ({CACHES})()) === 1")
    assert new.evaluate(MISSING) == [] and version_of(new) in course.script("second")


@pytest.mark.parametrize("late", ["assets-", "explore/"])
def test_while_the_host_is_halfway_the_earlier_version_stays(course, late):
    page = course.open()
    course.update(page)
    course.put("second", but_not=lambda path: late in path)  # the new scripts are missing, or a page is the old one
    assert course.update(page) == "redundant"
    course.go_offline()
    for place in ("", "explore/"):
        course.open(place, page)
        assert page.evaluate(MISSING) == [] and version_of(page) in course.script("first"), place
    course.put("second")
    assert course.update(course.open(page=page)) == "activated"
    assert version_of(course.open("", page)) in course.script("second")


def test_a_lab_of_a_newer_version_says_so_once(course):
    page = course.open("lab/lab_01_magnitude/")
    assert page.locator("#il-updated").count() == 0  # the first visit
    course.update(page)  # without the worker the browser's own cache would show the old page for ten minutes
    course.put("second")
    course.open("lab/lab_01_magnitude/", page)
    assert "updated" in page.locator("#il-updated").inner_text()
    course.open("lab/lab_12_amdahl/", page)
    assert page.locator("#il-updated").count() == 0


def test_a_page_that_is_open_during_the_update_says_so_and_keeps_its_files(course):
    """Two tabs on two versions: each has the scripts of its own, before and after the host is gone."""
    old = course.open("lab/lab_01_magnitude/")
    course.update(old)
    old.reload()  # now the worker has it
    course.put("second")
    new = course.open("lab/lab_01_magnitude/")
    assert course.update(new) == "activated"
    old.wait_for_selector("#il-updated")
    assert "load it again" in old.locator("#il-updated").inner_text()
    course.go_offline()
    for page, version in ((old, "first"), (new, "second")):
        assert version_of(page) in course.script(version) and page.evaluate(MISSING) == []
    old.reload()
    assert version_of(old) in course.script("second") and old.evaluate(MISSING) == []


STORE = """async ([folder, version]) => {
  const { openStore } = await import(folder + "store.js");
  if (version === 0) return openStore().then((store) => (window.store = store, "opened"), ({ message }) => message);
  if (version === 1) return window.store.add([["another event"]], 0).then(() => "written", ({ message }) => message);
  const request = indexedDB.open("ironlaw", 2);
  return new Promise((done) => {
    request.onblocked = () => done("blocked");
    request.onsuccess = () => { request.result.close(); done("upgraded"); };
  });
}"""


def test_a_later_version_may_change_the_browser_s_tables_under_an_open_page(course):
    """The page that is open makes way, and says what to do instead of writing into what it does not know; nothing hangs."""
    old, new = course.open("lab/lab_01_magnitude/"), course.open("lab/lab_01_magnitude/")
    folder = course.script("first").removesuffix("worker.js")
    assert old.evaluate(STORE, [folder, 0]) == "opened"
    assert new.evaluate(STORE, [folder, 2]) == "upgraded"
    assert "load this page again" in old.evaluate(STORE, [folder, 1])
    assert "load this page again" in new.evaluate(STORE, [folder, 0])
