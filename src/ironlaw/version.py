"""The version. It stands alone, so that what needs nothing else of the front page need not import it."""

__version__ = "0.1.0"
