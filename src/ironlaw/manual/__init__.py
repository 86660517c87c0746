"""The documentation as pages: guides, every command, the reference from docstrings, errata and accuracy, with a search. Nothing is fetched.

>>> build_docs(Path("build/docs"))

It needs the extra `docs`: MkDocs with its Material theme, and mkdocstrings.
"""

from ironlaw.manual.build_manual import build_docs

__all__ = ["build_docs"]
