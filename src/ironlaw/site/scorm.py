"""The site as a package for a course system: SCORM 1.2 or 2004 (3rd edition). One unit (a SCO), whose page holds the session; the labs are
in a frame in it. It is completed when every lab that it asks for is done, right or wrong, and it gives no score."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.pages.lab_catalogue import Lab, every_lab, resolve
from ironlaw.pages.records import REVIEW
from ironlaw.site.listing import MARK, NO_JEKYLL, NOT_FOUND, WORKER
from ironlaw.site.shells import POLICY
from ironlaw.slots import fill

VERSIONS = ("1.2", "2004")
PAGE = "course.html"
LEFT_OUT = (WORKER, NO_JEKYLL, NOT_FOUND, MARK)
HERE = Path(__file__).parent
WHEN = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes
MANUAL = "docs"
FEW = 8  # labs whose list is open until one is chosen
DONE = 3  # the stage of a lab whose design is saved
NAMESPACES = {
    "1.2": 'xmlns="http://www.imsproject.org/xsd/imscp_rootv1p1p2" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2"',
    "2004": 'xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_v1p3"'
    ' xmlns:imsss="http://www.imsglobal.org/xsd/imsss"',
}
SCHEMA = {"1.2": "1.2", "2004": "2004 3rd Edition"}
SCO = {"1.2": "adlcp:scormtype", "2004": "adlcp:scormType"}
# a learner may come back as often as they like, and what is measured is completion alone
SEQUENCING = '<imsss:sequencing><imsss:deliveryControls completionSetByContent="true" objectiveSetByContent="true"/></imsss:sequencing>'


@dataclass(frozen=True)
class Asked:
    """A lab that the package asks for, and the stage at which it is done: 2 after Act I, 3 with a saved design."""

    lab: Lab
    stage: int = DONE


def chosen(names: Sequence[str]) -> tuple[Asked, ...]:
    """The labs of these names; every lab of the course where none is named."""
    labs = [lab for lab in every_lab() if lab.ready and lab.slug != REVIEW]
    if not names:
        return tuple(Asked(lab) for lab in labs)
    found: dict[str, Asked] = {}
    for name in names:
        lab = resolve(name)
        if lab is None or lab not in labs:
            reason = "the review has no end" if lab and lab.slug == REVIEW else (lab.error if lab else "there is no such lab")
            raise BadValue(f"`lab={name}`: {reason}; choose from {', '.join(each.slug for each in labs)}")
        found[lab.slug] = Asked(lab)
    return tuple(found.values())


def assigned(path: Path) -> tuple[Asked, ...]:
    """The labs of an assignment. A course system is told of a lab by its furthest act, since Act II opens after Act I."""
    from ironlaw.classroom.assignment import adopt  # reads questions; a package of named labs need not

    assignment = adopt(path)
    by_slug = {lab.slug: lab for lab in every_lab()}
    asked = [Asked(by_slug[one.slug], DONE if 2 in one.acts else DONE - 1) for one in assignment.labs]
    return (*asked, *([Asked(by_slug[assignment.questions.slug])] if assignment.questions else []))


def check_version(version: str) -> None:
    if version not in VERSIONS:
        raise BadValue(f"`scorm_version={version}` is not a version of SCORM that ironlaw writes; choose 1.2 or 2004")


def title_of(asked: Sequence[Asked]) -> str:
    only = asked[0].lab
    return f"{only.name}: {only.title}" if len(asked) == 1 else f"ironlaw: {len(asked)} labs on the performance of ML systems"


def package(content: Mapping[str, bytes], asked: Sequence[Asked], version: str) -> bytes:
    """The archive. `content`: every file of the site by its name."""
    files = _course_files(content, asked, version)
    asking = "".join(f"{one.lab.slug} {one.stage} " for one in asked)
    identifier = "ironlaw-" + hashlib.sha256(asking.encode()).hexdigest()[:12]  # the same labs are the same package in a later build
    files["imsmanifest.xml"] = manifest(files, identifier, title_of(asked), version).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (name != "imsmanifest.xml", name)):
            archive.writestr(zipfile.ZipInfo(name, WHEN), files[name], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def _course_files(content: Mapping[str, bytes], asked: Sequence[Asked], version: str) -> dict[str, bytes]:
    """The site's files as a course system serves them: many don't know what an .mjs is, and then no browser runs it."""
    own = {name: (HERE / "js" / name).read_bytes() for name in ("course.css", "course.js", "course_links.js")}
    assets = f"course-{hashlib.sha256(b''.join(own.values())).hexdigest()[:12]}"
    files = {f"{assets}/{name}": data for name, data in own.items()}
    for name in content.keys() - set(LEFT_OUT):
        if not name.startswith(f"{MANUAL}/"):
            files[name.removesuffix(".mjs") + ".js" if name.endswith(".mjs") else name] = _served(name, content[name], assets)
    return {**files, PAGE: _page(asked, version, assets).encode()}


def _served(name: str, data: bytes, assets: str) -> bytes:
    if name.endswith((".js", ".mjs")):
        return data.replace(b".mjs", b".js")
    if not name.endswith(".html"):
        return data
    script = f'<script src="{"../" * name.count("/")}{assets}/course_links.js"></script>\n</head>'
    return data.replace(b'<html lang="en"', b'<html lang="en" data-course', 1).replace(b"</head>", script.encode(), 1)


def _page(asked: Sequence[Asked], version: str, assets: str) -> str:
    labs: list[dict[str, Any]] = [{"slug": one.lab.slug, "name": one.lab.name, "title": one.lab.title, "stage": one.stage} for one in asked]
    labels = [f"{one.lab.name} · {one.lab.title}" if one.lab.name != "Lab" else one.lab.title for one in asked]
    items = "".join(
        f'<li data-lab="{escape(lab["slug"])}"><a href="lab/{escape(lab["slug"])}/index.html" target="labs">'
        f"{escape(label)}</a><span></span></li>"
        for lab, label in zip(labs, labels, strict=True)
    )
    begins = " open" if len(labs) <= FEW else ""  # the start page below it begins with the whole course
    listed = f"<details{begins}><summary>{len(labs)} labs</summary><ul>{items}</ul></details>" if len(labs) > 1 else ""
    data = json.dumps({"version": version, "labs": labs}, ensure_ascii=False).replace("<", "\\u003c")
    slots = {"policy": POLICY, "title": escape(title_of(asked)), "assets": assets, "list": listed, "data": data}
    return fill((HERE / PAGE).read_text("utf-8"), slots, PAGE)


def manifest(names: Iterable[str], identifier: str, title: str, version: str) -> str:
    """What the standard asks for: one organisation, one item, one resource with all its files."""
    listed = "".join(f'<file href="{escape(name)}"/>\n' for name in sorted(names))
    sequencing = SEQUENCING if version == "2004" else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<manifest identifier="{identifier}" version="1.0" {NAMESPACES[version]}>\n'
        f"<metadata><schema>ADL SCORM</schema><schemaversion>{SCHEMA[version]}</schemaversion></metadata>\n"
        f'<organizations default="course"><organization identifier="course"><title>{escape(title)}</title>'
        f'<item identifier="labs" identifierref="site" isvisible="true"><title>{escape(title)}</title>{sequencing}</item>'
        "</organization></organizations>\n"
        f'<resources><resource identifier="site" type="webcontent" {SCO[version]}="sco" href="{PAGE}">\n{listed}</resource></resources>\n'
        "</manifest>\n"
    )
