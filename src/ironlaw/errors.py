"""The tree of errors. Every message names the value, the place and the next step."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate

LINE = 480  # characters of names that a message lists at most
LONGEST, HEAD, TAIL = 5_000, 3_500, 1_000  # characters of a message: a value in it may have any length; the next step is at its end


class IronlawError(Exception):
    """Anything ironlaw refuses to do. The command line prints the message and exits with 2.

    `field` is the setting that was refused ("batch"), where one can be named: a page shows the message beside its control.
    """

    field: str = ""

    def __init__(self, message: str = "", field: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST else f"{message[:HEAD]} … {message[-TAIL:]}")
        if field:
            self.field = field


class UnknownName(IronlawError, LookupError):
    """A machine, workload, claim or op kind that no registry holds."""


class UnsupportedPrecision(IronlawError, ValueError):
    """A number format that the machine has no unit for."""

    field = "dtype"


class BadValue(IronlawError, ValueError):
    """A value outside its range, or text that does not parse."""


class BadRegistry(IronlawError, ValueError):
    """A registry file that breaks the grammar: a figure without a source, say."""


class CaptureBreak(IronlawError):
    """A model whose next op depends on a tensor's value; the message says where."""


class MissingExtra(IronlawError, ImportError):
    """An optional dependency that is not installed; the message holds the install command."""


class LedgerError(IronlawError):
    """Anything the ledger refuses to do. What it acknowledged before stays as it was."""


class AlreadyCommitted(LedgerError):
    """A second prediction for the same question and attempt; the first one stands."""


class LedgerUnavailable(LedgerError):
    """The ledger can't be opened, read or written now: no permission, a full disk, no server."""


class LedgerDamaged(LedgerUnavailable):
    """The file or its content is broken, or it is not a ledger. `reason`, where it is a broken ledger, says what was found."""

    reason: str = ""


class LedgerNewer(LedgerUnavailable):
    """Written by a newer ironlaw. It is left as it is."""


class BadExport(LedgerError, ValueError):
    """A file to import that breaks the format, or contradicts what the ledger holds. None of it was imported."""


class EditedExport(BadExport):
    """The export's events are not those that were exported: the chain of hashes breaks. `reason` says where."""

    reason: str = ""


@contextmanager
def refusing(field: str) -> Iterator[None]:
    """What is refused inside was refused for this setting, unless the error already names another."""
    try:
        yield
    except IronlawError as error:
        error.field = error.field or field
        raise


def unknown(what: str, name: object, known: Iterable[str], add: str = "", field: str = "") -> UnknownName:
    """`no hardware 'h900'; did you mean h100_sxm, h200_sxm? …`: nearest matches first, then where to add one."""
    names = sorted(known)
    plain = {n.lower(): n for n in names}
    matches = difflib.get_close_matches(str(name).lower().replace("-", "_").replace(" ", "_"), plain, n=4, cutoff=0.5)
    near = [plain[n] for n in matches]
    many = sum(end <= LINE for end in accumulate(len(name) + 2 for name in names))
    listed = ", ".join(names[:many]) + (f" and {len(names) - many:,} more" if len(names) > many else "")
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {listed}"
    return UnknownName(f"no {what} {name!r}; {hint}" + (f"; to add one: {add}" if add else ""), field)


def kind_of(value: object) -> str:
    """`an int`, `a Linear`, `None`."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def sentence(message: str) -> str:
    """A message as a sentence of its own: with a capital and a full stop. The command line prints it after `ironlaw:`, a page alone."""
    text = message.strip()
    first = text.partition(" ")[0].rstrip(":,;")
    start = text[:1].upper() if first.isalpha() else text[:1]  # the name of a file stays as it is
    return start + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")
