"""words.md: sections, slots, and filling that is strict both ways."""

import re
from xml.etree import ElementTree

import pytest

from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.kit import prose
from ironlaw.kit.lab_words import Words, load


@pytest.fixture
def words(tmp_path):
    def made(text, **given):
        (tmp_path / "words.md").write_text(text, encoding="utf-8")
        return load(tmp_path / "words.md", given)

    return made


def test_sections_and_slots(words):
    found = words("for authors\n\n## one\nA {{ gap }} and {{gap}}.\n\n## act1.two\nB\n\nC\n")
    assert list(found) == ["one", "act1.two"]
    assert found.fill("one", gap=3) == "A 3 and 3."
    assert found["act1.two"] == "B\n\nC"
    assert found.used == {"one", "act1.two"}


def test_a_missing_slot_is_an_error_that_names_it(words):
    with pytest.raises(BadRegistry, match=r"\[one\]: no value for gap"):
        words("## one\n{{ gap }}").fill("one")


def test_an_unused_slot_is_an_error_too(words):
    with pytest.raises(BadRegistry, match="nothing uses more"):
        words("## one\n{{ gap }}").fill("one", gap=1, more=2)


def test_several_sections_share_slots(words):
    found = words("## one\n{{ a }}\n## two\n{{ b }}")
    assert found.fill_all(["one", "two"], {"a": 1, "b": 2}) == {"one": "1", "two": "2"}
    with pytest.raises(BadRegistry, match="nothing uses c"):
        found.fill_all(["one", "two"], {"a": 1, "b": 2, "c": 3})
    assert found.fill_all(["one"], {}, {"a": "x", "b": "y"}) == {"one": "x"}  # known ones may stay unused


def test_premises_of_the_story_fill_themselves_and_open_no_formula(words):
    assert words("## one\nIt costs {{ price }}.", price="$2.40")["one"] == "It costs &#36;2.40."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## one\n{{ Gap }}", "a slot that can't be read"),
        ("## one\n{{ gap }", "a slot that can't be read"),
        ("## one\na\n## one\nb", "two sections"),
        ("no heading", "no sections"),
    ],
)
def test_broken_grammar_is_refused(words, text, said):
    with pytest.raises(BadRegistry, match=said):
        words(text)


def test_an_unknown_section_names_its_neighbours(words):
    with pytest.raises(UnknownName, match=r"act1\.message"):
        words("## act1.message\na")["act1.mesage"]


def test_a_missing_file_says_what_to_write(tmp_path):
    with pytest.raises(BadRegistry, match=r"has no words\.md"):
        load(tmp_path / "words.md")


HOSTILE = [
    "<script>x()</script>", "<img src=x onerror=x()>", "[x](javascript:x())", "`x`", "**x**", "_x_", "![x](/export)", "$x$", "a & b",
    "\\<b>", "&lt;b&gt;",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "around", ["before {{ slot }} after", "`{{ slot }}`", "**{{ slot }}**", "| a |\n|---|\n| {{ slot }} |", "{{ slot }}"]
)
def test_what_fills_a_slot_is_shown_as_it_stands(text: str, around: str):
    page = prose.html(Words({"one": around}).fill("one", slot=text))
    assert text in "".join(ElementTree.fromstring(f"<p>{page}</p>").itertext())
    assert not re.search(r"<(script|img|a|b|math)\b", page)


def test_markup_is_taken_as_it_is_and_a_filled_section_is_markup():
    words = Words({"one": "{{ slot }}", "two": "so: {{ way }}"})
    inner = words.fill("one", slot=prose.amount(3e12, "B/s"))
    assert '<span class="il-num">' in prose.html(words.fill("two", way=inner))
    assert prose.html(words.fill("two", way=words.fill("one", slot="<b>"))) == "<p>so: &lt;b&gt;</p>"
    assert prose.html(words.fill("two", way=prose.Markup("*x*"))) == "<p>so: <em>x</em></p>"
