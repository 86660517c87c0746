"""The review: a table of contents. The words are in words.md, the cards in recall/questions/."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="Review · Recall across the labs")


@app.cell
def opened():
    from ironlaw.kit import review as _review

    lab = _review.open()
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.review import parts

    count = lab.count()
    return count, parts


@app.cell
def header(lab):
    lab.header()


@app.cell
def rail(lab, parts):
    lab.rail(parts.RAIL)


@app.cell
def cards_about(lab):
    lab.section("cards")


@app.cell
def cards(lab):
    lab.cards()


@app.cell
def hud(count, lab):
    lab.hud(count())


if __name__ == "__main__":
    app.run()
