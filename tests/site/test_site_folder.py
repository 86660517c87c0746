"""A site built over an earlier one: only its own files change, and what a killed build leaves is whole until the next one puts it right."""

import errno
import json
import os
import re
from pathlib import Path

import pytest

from ironlaw.errors import BadValue
from ironlaw.site.folder import BESIDE, update
from ironlaw.site.listing import MARK, listing
from ironlaw.studies.folder_lock import locked


def site(version, *more):
    """A small one. A page names the script that it runs."""
    script = f"assets-{version}/lab.js"
    page = f'<script src="{script}">'.encode()
    content = {script: b"run", "index.html": page, "lab/one/index.html": page, "sw.js": f'["{script}"]'.encode(), ".nojekyll": b""}
    content |= {name: f"{name} of {version}".encode() for name in more}
    return {**content, MARK: listing({"ironlaw": version}, content)}


FIRST, SECOND = site("1" * 12, "lab/old/index.html", "docs/search/index.json"), site("2" * 12, "lab/new/index.html")


def write(out, files):
    for name, data in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)


def tree(out):
    """Every file by its name, and every empty folder."""
    leaves = [path for path in out.rglob("*") if path.is_file() or not any(path.iterdir())]
    return {path.relative_to(out).as_posix(): path.read_bytes() if path.is_file() else None for path in leaves}


OWN = {".git/config": b"remote", "CNAME": b"course.example", "lab/old/notes.md": b"mine", "extra/index.html": b"mine"}


def test_what_the_site_did_not_write_stays_and_what_it_no_longer_has_goes(tmp_path):
    update(tmp_path / "out", FIRST)
    assert tree(tmp_path / "out") == FIRST
    write(tmp_path / "out", OWN)
    update(tmp_path / "out", SECOND)
    assert tree(tmp_path / "out") == {**SECOND, **OWN}
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("taken", ["lab/new/index.html", "lab/new", f"assets-{'2' * 12}"])
def test_a_file_that_is_not_the_sites_is_named_and_nothing_changes(tmp_path, taken):
    update(tmp_path, FIRST)
    write(tmp_path, {taken: b"mine"})
    with pytest.raises(BadValue, match=re.escape(taken)):
        update(tmp_path, SECOND)
    assert tree(tmp_path) == {**FIRST, taken: b"mine"}


def test_what_a_copy_of_another_version_left_is_taken_as_it_is(tmp_path):
    """A site that was copied over another leaves files that its list does not name."""
    write(tmp_path, {**SECOND, **FIRST})
    update(tmp_path, SECOND)
    assert tree(tmp_path) == SECOND


def test_on_a_full_disk_nothing_changes(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "no space left")

    update(tmp_path / "old", FIRST)
    monkeypatch.setattr(Path, "write_bytes", full)
    for name in ("old", "new"):
        with pytest.raises(BadValue, match=rf"{name} \(no space left\)"):
            update(tmp_path / name, SECOND)
    assert list(tmp_path.iterdir()) == [tmp_path / "old"] and tree(tmp_path / "old") == FIRST


class Killed(BaseException):
    pass


def killed_after(steps, monkeypatch, out, content):
    """Whether the build was cut off: from that step on nothing reaches the disk, not even what an exception would clean up."""
    left = iter(range(steps))

    def dying(act):
        def step(*given, **more):
            if next(left, None) is None:
                raise Killed
            return act(*given, **more)

        return step

    def write_bytes(path, data):
        with path.open("wb", buffering=0) as file:
            for half in (data[:3], data[3:]):
                dying(file.write)(half)

    with monkeypatch.context() as patch:
        for name in ("replace", "unlink", "rmdir", "mkdir", "ftruncate"):
            patch.setattr(os, name, dying(getattr(os, name)))
        patch.setattr(Path, "write_bytes", write_bytes)
        try:
            update(out, content)
        except Killed:
            return True
    return False


def test_a_build_killed_at_any_step_leaves_whole_files_and_the_next_one_leaves_nothing_else(tmp_path, monkeypatch):
    own = {"CNAME": b"course.example", "lab/old/notes.md": b"mine"}
    for steps in range(1000):
        out = tmp_path / str(steps)
        update(out, FIRST)
        write(out, own)
        was_killed = killed_after(steps, monkeypatch, out, SECOND)
        files = {name: data for name, data in tree(out).items() if not name.startswith(BESIDE) and data is not None}
        listed = json.loads(files[MARK])["files"]
        for name, data in files.items():
            assert name == MARK or data in (FIRST.get(name), SECOND.get(name), own.get(name)), name
            assert name in {MARK, *listed, *own}, name
        for name in ("index.html", "lab/one/index.html", "sw.js"):  # whoever comes now gets a page that runs
            assert files[name] in (FIRST[name], SECOND[name])
            assert re.search(r'"(assets-\w+/lab.js)"', files[name].decode())[1] in files
        third = FIRST if steps % 2 else SECOND
        update(out, third)
        assert tree(out) == {**third, **own}
        if not was_killed:
            assert files == {**SECOND, **own}
            break
    assert steps > 2 * len(SECOND)


def test_a_first_build_that_was_killed_is_begun_again(tmp_path, monkeypatch):
    steps = 0
    while killed_after(steps, monkeypatch, tmp_path / str(steps), FIRST):
        update(tmp_path / str(steps), FIRST)
        assert tree(tmp_path / str(steps)) == FIRST
        steps += 1
    assert steps > len(FIRST)


def test_the_files_of_a_build_that_still_runs_are_not_swept(tmp_path):
    update(tmp_path, FIRST)
    running = tmp_path / f"{BESIDE}abcd1234"
    running.mkdir()
    with locked(running), pytest.raises(BadValue, match="another build"):
        update(tmp_path, SECOND)
    assert running.is_dir() and json.loads((tmp_path / MARK).read_bytes())["ironlaw"] == "1" * 12
    update(tmp_path, SECOND)
    assert tree(tmp_path) == SECOND


WAYS_OUT = ["../other.txt", "lab/../../other.txt", "{there}/other.txt", "..\\other.txt", "C:other.txt", "", ".", "a//b", 7, ".git/config"]


@pytest.mark.parametrize("name", WAYS_OUT)
def test_a_list_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    there, out = tmp_path / "there", tmp_path / "there" / "out"
    update(out, FIRST)
    write(there, {"other.txt": b"mine", "out/.git/config": b"remote"})
    name = name.format(there=there) if isinstance(name, str) else name
    (out / MARK).write_text(json.dumps({"files": [*FIRST, name]}))
    before = tree(there)
    with pytest.raises(BadValue, match=re.escape(repr(name))):
        update(out, SECOND)
    assert tree(there) == before


DEEP = pytest.param("[" * 100_000, id="deep")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"files": 7}', '{"files": "index.html"}', DEEP, '{"ironlaw": "0.1"}'])
def test_a_list_that_can_not_be_read_is_refused(tmp_path, text):
    write(tmp_path, {MARK: text.encode(), "index.html": b"mine"})
    with pytest.raises(BadValue, match=f"{MARK}.*new folder"):
        update(tmp_path, SECOND)
    assert tree(tmp_path) == {MARK: text.encode(), "index.html": b"mine"}


@pytest.mark.parametrize("link", ["lab", "lab/one", "lab/one/index.html", "docs", f"assets-{'2' * 12}", "sw.js"])
def test_a_link_leads_nowhere_outside(tmp_path, link):
    """Whether the next build writes through it or removes what lies behind."""
    out, outside = tmp_path / "out", tmp_path / "outside"
    update(out, FIRST)
    write(outside, {"one/index.html": b"mine", "index.html": b"mine", "search/index.json": b"mine"})
    (out / link).parent.mkdir(exist_ok=True)
    if os.path.lexists(out / link):
        os.replace(out / link, tmp_path / "away")
    (out / link).symlink_to(outside / "index.html" if "." in link else outside)
    before = tree(outside)
    with pytest.raises(BadValue, match=re.escape(link)):
        update(out, SECOND)
    assert tree(outside) == before and json.loads((out / MARK).read_bytes())["ironlaw"] == "1" * 12


def test_what_looks_like_a_killed_build_is_not_followed(tmp_path):
    out, outside = tmp_path / "out", tmp_path / "outside"
    write(outside, {"thesis.md": b"mine"})
    update(out, FIRST)
    (out / f"{BESIDE}aaaaaaaa").symlink_to(outside)
    (out / f"{BESIDE}bbbbbbbb").mkdir()
    (out / f"{BESIDE}bbbbbbbb" / ".lock").symlink_to(outside / "thesis.md")
    update(out, SECOND)
    assert tree(outside) == {"thesis.md": b"mine"}


def test_a_site_from_before_there_was_a_list_goes_by_its_list_for_offline_use(tmp_path):
    kept = ["./", f"./{MARK}", "./lab/old/", "./assets-0123456789ab/lab.js"]
    old = dict.fromkeys(["index.html", "lab/old/index.html", "assets-0123456789ab/lab.js", ".nojekyll"], b"old")
    write(tmp_path, {**old, **OWN, MARK: b'{"ironlaw": "0.1.0"}', "sw.js": f"const FILES = {json.dumps(kept)};".encode()})
    update(tmp_path, SECOND)
    assert tree(tmp_path) == {**SECOND, **OWN}
