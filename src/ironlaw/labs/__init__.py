"""The labs. The folder is the registry: `<slug>/` holds lab.py (thin), words.md (all prose) and questions.toml."""
