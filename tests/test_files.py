"""What a command writes: whole or not at all, never over an input, never over anything but a regular file."""

import os
import socket
import stat
import sys

import pytest

from ironlaw import files
from ironlaw.errors import BadValue

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")


def is_page(head: bytes) -> bool:
    return head.startswith(b"<html")


def test_a_new_file_and_one_that_is_replaced(tmp_path):
    place = tmp_path / "report.html"
    assert files.replace_text(place, "µ\n") == place and place.read_bytes() == "µ\n".encode()
    files.replace_text(place, "second")
    assert place.read_text() == "second" and os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_fault_leaves_the_old_file_and_no_half(tmp_path, monkeypatch, fault):
    place = tmp_path / "x.json"
    place.write_text("before")

    def broken(*_):
        raise fault

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(fault if isinstance(fault, type) else type(fault)):
        files.replace_text(place, "after")
    assert place.read_text() == "before" and os.listdir(tmp_path) == ["x.json"]


@posix
def test_permissions(tmp_path):
    old, new, own = tmp_path / "old", tmp_path / "new", tmp_path / "own"
    old.write_text("x")
    old.chmod(0o640)
    before = os.umask(0o022)
    try:
        for place in (old, new):
            files.replace_text(place, "y")
        files.replace_text(own, "y", private=True)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(place.stat().st_mode) for place in (old, new, own)] == [0o640, 0o644, 0o600]


@posix
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket"])
def test_only_regular_files(tmp_path, kind, linked):
    place = tmp_path / kind
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place = files.Path("/dev/null")
    else:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(place))
        server.close()
    if linked:
        (tmp_path / "link").symlink_to(place)
        place = tmp_path / "link"
    before = place.stat()
    for write in (lambda: files.output(place, "the report"), lambda: files.replace_text(place, "text")):
        with pytest.raises(BadValue, match=f"is a {kind}; .* regular file"):
            write()
    assert (place.stat().st_mode, place.stat().st_ino) == (before.st_mode, before.st_ino)


@posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("file.html", "none_yet.html"):
        link = tmp_path / name
        link.symlink_to(tmp_path / "there" / name)
        files.replace_text(link, "text")
        assert link.is_symlink() and (tmp_path / "there" / name).read_text() == "text"


def test_never_over_an_input(tmp_path, monkeypatch):
    source = tmp_path / "model.py"
    source.write_text("<html>")  # even where the content would be accepted
    monkeypatch.chdir(tmp_path)
    ways = ["model.py", "./model.py", str(source), "../" + tmp_path.name + "/model.py"]
    if os.name == "posix":
        (tmp_path / "soft").symlink_to(source)
        os.link(source, tmp_path / "hard")
        ways += ["soft", "hard"]
    for way in ways:
        with pytest.raises(BadValue, match=r"written over model\.py, which is read here; give another file"):
            files.output(way, "the report", ["none", "model.py"], is_page)
    with pytest.raises(BadValue, match="which is read here"):
        files.output("wal", "the export", ["wal"])  # not there yet, as a database's journal may be
    assert files.output("other.html", "the report", ["model.py"], is_page) == tmp_path.resolve() / "other.html"


def test_a_file_of_another_kind_stays(tmp_path):
    place = tmp_path / "notes.txt"
    place.write_text("mine")
    with pytest.raises(BadValue, match=r"notes\.txt already exists and is something else"):
        files.output(place, "the report", accepts=is_page)
    for fine in ("", "<html>old"):
        place.write_text(fine)
        assert files.output(place, "the report", accepts=is_page) == place.resolve()


@pytest.mark.parametrize("name", ["", ".", "a\0b"])
def test_names_that_are_not_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadValue, match=r"is a folder|not a valid name"):
        files.output(name, "the report")


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="its names are Unicode")
def test_a_name_that_is_not_text(tmp_path):
    """A name in another encoding arrives with surrogates, and what is written may contain it."""
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.html")
    files.replace_text(name, f"of {name}")
    assert b"of " in (tmp_path / os.fsdecode(b"\xff.html")).read_bytes()
