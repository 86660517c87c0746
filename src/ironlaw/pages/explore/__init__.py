"""/explore: any model on any machine, as one Piece. Its settings are in the page's address; nothing is asked and nothing is kept.

`settings` has the dials and what they may be set to, `view` what is shown for them; the rest draws one part of that view each.
"""
