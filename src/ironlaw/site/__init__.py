"""The labs as a static site: pages, and a Python that runs in the browser of whoever opens them. `build.build()` writes the folder.

`desk` is what runs there; the rest builds. js/ is the page around it.
"""
