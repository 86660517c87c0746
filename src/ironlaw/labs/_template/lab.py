"""A lab reads like a table of contents: one cell per part, named for it. Words are in words.md, keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="A lab to copy")


@app.cell
def opened():
    from ironlaw import kit as _kit  # an underscore keeps a name inside its cell

    lab = _kit.open("_template")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs._template import model

    # a cell that names one of these runs again when it changes
    predicted, answered = lab.states("act1", "act1_reflection")
    context, readouts = lab.states("context", "readouts")
    return answered, context, model, predicted, readouts


@app.cell
def header(lab):
    lab.header()


@app.cell
def rail(answered, lab, predicted):
    lab.rail(predicted(), answered())


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
def act1_instrument(lab, model):
    lab.instrument("act1", model.dials(lab), lambda values: model.view(lab, values))


@app.cell
def act1_reveal(lab, model, predicted):
    lab.reveal("act1", model.truth(lab), model.distance(lab), model.slots(lab)) if predicted() else None


@app.cell
def act1_claims(lab, predicted):
    lab.claims("act1", ["a100_bandwidth"]) if predicted() else None


@app.cell
def act1_reflection(lab, predicted):
    lab.reflect("act1") if predicted() else None


@app.cell
def act1_peek(lab, model, predicted):
    lab.peek("act1", model.slots(lab)) if predicted() else None


@app.cell
def takeaways(answered, lab):
    lab.takeaways() if answered() else None


@app.cell
def save(answered, context, lab, model, predicted, readouts):
    receipt = lab.save(model.design(lab), predicted(), answered(), context(), readouts())
    return (receipt,)


@app.cell
def hud(lab, receipt):
    lab.hud([], receipt)


if __name__ == "__main__":
    app.run()
