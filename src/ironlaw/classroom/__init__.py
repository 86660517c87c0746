"""A class without a server: the ledger files that learners handed in -> one page and CSV files.

>>> hand_ins = collect(Path("handed-in"))
>>> figures = count(hand_ins)
>>> write(figures, Path("class-report"))

Nothing leaves the machine: files are read, files are written, and the page loads nothing.
"""

from ironlaw.classroom.answer_counts import ClassFigures, count
from ironlaw.classroom.hand_ins import HandIn, HandIns, Refusal, collect
from ironlaw.classroom.output import write

__all__ = ["ClassFigures", "HandIn", "HandIns", "Refusal", "collect", "count", "write"]
