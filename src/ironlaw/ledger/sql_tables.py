"""The columns of the tables after the newest migration; a test compares the two.

Constraints, indexes and triggers are in the migrations. (Naming PostgreSQL's options here would import all of its dialects.)
"""

from sqlalchemy import Column, Integer, MetaData, Table, Text

VERSION = "ironlaw_version"  # Alembic's own table; our name, since a PostgreSQL database may hold other tables

metadata = MetaData()

events = Table(
    "ironlaw_events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),  # the order in which this ledger received them
    Column("id", Text, nullable=False, unique=True),
    Column("learner", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("lab", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("question", Text),  # from the payload, so that the database can enforce the lock
    Column("payload", Text, nullable=False),  # JSON as text: both databases return exactly what was written
    Column("time", Text, nullable=False),
    Column("extra", Text),  # JSON: fields that a newer ironlaw gave the event
    Column("prev", Text, nullable=False),  # the hash of the event before it
    Column("hash", Text, nullable=False),
)

# One row: the owner of this ledger. Imported events may have another learner's id.
learner = Table(
    "ironlaw_learner",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("since", Text, nullable=False),
)

# One row: how many events there are and the hash of the last one, so that a missing end shows too.
head = Table(
    "ironlaw_head",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("events", Integer, nullable=False),
    Column("hash", Text, nullable=False),
)
