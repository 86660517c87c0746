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
    from ironlaw.labs.review import capture, ladder, learner, loop, roof, sections

    count = lab.count()
    return capture, count, ladder, learner, loop, roof, sections


@app.cell
def header(lab):
    lab.header()


@app.cell
def rail(lab, sections):
    lab.rail(sections.RAIL)


@app.cell
def cards_about(lab):
    lab.section("cards", folds=False)


@app.cell
def cards(lab):
    lab.cards()


@app.cell
def you_about(lab):
    lab.section("you")


@app.cell
def calibration(lab, learner):
    lab.instrument("you", learner.dials(lab), lambda values: learner.view(lab, values), follows=True)


@app.cell
def beliefs_about(lab):
    lab.section("beliefs", folds=False)


@app.cell
def beliefs(count, lab, learner):
    learner.held_beliefs(lab, count())


@app.cell
def map_about(lab):
    lab.section("map")


@app.cell
def concept_map(lab):
    lab.map()


@app.cell
def models_about(lab):
    lab.section("models")


@app.cell
def memory_ladder(lab, ladder):
    lab.instrument("ladder", ladder.dials(lab), lambda values: ladder.view(lab, values))


@app.cell
def roofline(lab, roof):
    lab.instrument("roof", roof.dials(lab), lambda values: roof.view(lab, values))


@app.cell
def capture_about(lab):
    lab.section("capture")


@app.cell
def capture_spectrum(capture, lab):
    lab.show("spectrum", capture.piece(lab))


@app.cell
def loop_about(lab):
    lab.section("loop")


@app.cell
def optimisation_loop(lab, loop):
    lab.show("steps", loop.piece(lab))


@app.cell
def tree_about(lab):
    lab.section("tree")


@app.cell
def fusion_tree(lab):
    lab.walker()


@app.cell
def checklist_about(lab):
    lab.section("checklist")


@app.cell
def checklist(lab):
    lab.checklist()


@app.cell
def writing_about(lab):
    lab.section("writing")


@app.cell
def writing(lab):
    lab.writing()


@app.cell
def what_comes_next(lab):
    lab.section("next", folds=False)


@app.cell
def hud(count, lab):
    lab.hud(count())


if __name__ == "__main__":
    app.run()
