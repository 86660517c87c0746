"""The shape of all that `--json` writes, a type for each object: `ironlaw schema` reads its JSON Schemas off these.

A description stands beside its field, `Annotated[float, "a call"]`; so may other keywords of JSON Schema, as a dict. A field that some
outputs leave out is `NotRequired`. Under one version fields may be added; none is removed or changed.
"""
