"""A lab reads like a table of contents: one cell per part, named for it. Words are in words.md, keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="A lab to copy")


@app.cell
def opened():
    from ironlaw import kit as _kit  # an underscore keeps a name inside its cell

    lab = _kit.open("bare")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.bare import act1, design

    # a cell that names one of these runs again when it changes
    predicted, measured, reflected, why, end = lab.states("act1", "act1.claims", "act1.reflect", "act1.peek", "end")
    progress, context, readouts = lab.states("progress", "context", "readouts")
    return act1, context, design, end, measured, predicted, progress, readouts, reflected, why


@app.cell
def header(lab):
    lab.header()


@app.cell
def rail(lab, progress):
    lab.rail(progress())


@app.cell
def context_toggle(lab):
    lab.context()


@app.cell
def act1_message(lab):
    lab.message("act1")


@app.cell
def act1_lock(lab):
    lab.lock("act1")


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.instrument.dials(lab), lambda values: act1.instrument.view(lab, values))


@app.cell
def act1_reveal(act1, lab, predicted):
    lab.reveal("act1", act1.slots.truth(lab), act1.slots.distance(lab), act1.slots.reveal(lab)) if predicted() else None


@app.cell
def act1_claims(act1, lab, measured):
    lab.claims("act1", act1.instrument.CLAIMS) if measured() else None


@app.cell
def act1_reflection(lab, reflected):
    lab.reflect("act1") if reflected() else None


@app.cell
def act1_peek(act1, lab, why):
    lab.peek("act1", act1.slots.peek(lab)) if why() else None


@app.cell
def receipt(design, end, lab):
    lab.end(design.truths(lab), lambda: design.design(lab)) if end() else None


@app.cell
def hud(context, design, lab, progress, readouts):
    lab.hud([], design.design(lab), progress(), context(), readouts())


if __name__ == "__main__":
    app.run()
