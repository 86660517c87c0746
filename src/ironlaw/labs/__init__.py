"""The labs. The folder is the registry: `<slug>/` holds words.md (all prose), questions.toml, its acts, and lab.py, a notebook."""
