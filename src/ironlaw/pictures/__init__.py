"""Results of the engine -> declarative figures that the widget draws. One file per kind of picture; no physics, no HTML."""
