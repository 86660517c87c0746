"""The sections of the report, one file each: HTML as text, and the figures and tables that it refers to."""
