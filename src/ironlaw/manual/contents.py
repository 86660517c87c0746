"""Which pages there are, and in which order. A guide that is not listed comes last among the guides."""

from __future__ import annotations

from collections.abc import Iterable

HOME = "index.md"  # the README
# title -> pages, each by its name among the sources
GROUPS = {
    "Start": ("tour.md", "setup.md"),
    "Learn": ("labs.md", "review.md", "glossary.md", "errata.md"),
    "Use": ("analyze.md", "gate.md", "serving.md", "study.md", "designs.md", "ledger.md", "python.md", "cli.md"),
    "Machines": ("measure.md", "own-machines.md", "transfer.md"),
    "Teach": ("class.md", "lms.md", "hub.md", "write-a-lab.md"),
    "How far to trust it": ("physics.md", "cluster.md", "accuracy.md", "corpus.md", "mutants.md", "security.md"),
}
GUIDES = "Use"
PROJECT = ("CONTRIBUTING.md", "map.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "release.md", "dependencies.md")


def navigation(pages: Iterable[str], reference: Iterable[str]) -> list[dict[str, str | list[str]]]:
    """MkDocs' `nav`: groups of those pages that exist."""
    names = sorted(pages)
    listed = {name for group in (*GROUPS.values(), PROJECT) for name in group} | {HOME}
    nav: list[dict[str, str | list[str]]] = [{"Overview": HOME}]
    for title, order in GROUPS.items():
        more = [name for name in names if name not in listed] if title == GUIDES else []
        nav.append({title: [*(name for name in order if name in names), *more]})
    nav.append({"Reference": list(reference)})
    nav.append({"Project": [name for name in PROJECT if name in names]})
    return nav
