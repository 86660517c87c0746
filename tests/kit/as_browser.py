"""What a browser does to a piece."""


def send(piece, **state):
    """What the browser does: the new state with the number of its message."""
    piece.state = {**piece.state, **state, "seq": piece.state.get("seq", 0) + 1}
    return piece.view
