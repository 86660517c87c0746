"""Lab 11, The Roofline: a table of contents. The words are in words.md, the keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="Lab 11 · The Roofline")


@app.cell
def opened():
    from ironlaw import kit as _kit

    lab = _kit.open("lab_11_roofline")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.lab_11_roofline import act1, act2, design

    predicted1, answered1, predicted2, answered2 = lab.states("act1", "act1_reflection", "act2", "act2_reflection")
    context, readouts, measured, decided = lab.states("context", "readouts", "measured", "act2_budget")
    return act1, act2, answered1, answered2, context, decided, design, measured, predicted1, predicted2, readouts


@app.cell
def header(lab):
    lab.header()


@app.cell
def rail(answered1, answered2, lab, predicted1, predicted2):
    lab.rail(predicted1(), answered1(), predicted2(), answered2())


@app.cell
def context_toggle(lab):
    lab.context()


@app.cell
def act1_message(act1, context, lab):
    context()
    lab.message("act1", act1.slots.message(lab))


@app.cell
def act1_lock(act1, lab):
    lab.lock("act1", act1.slots.lock(lab))


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.instrument.dials(lab), lambda values: act1.instrument.view(lab, values), follows=("device",))


@app.cell
def act1_reveal(act1, context, lab, predicted1):
    context()
    lab.reveal("act1", act1.slots.truth(lab), act1.slots.distance(lab), act1.slots.reveal(lab)) if predicted1() else None


@app.cell
def act1_claims(act1, lab, measured, predicted1):
    lab.claims("act1", act1.instrument.CLAIMS, act1.local_runs.claims(lab, measured())) if predicted1() else None


@app.cell
def act1_measure(act1, lab, predicted1):
    lab.measuring("act1", act1.local_runs.captions(lab)) if predicted1() else None


@app.cell
def act1_reflection(act1, lab, predicted1):
    lab.reflect("act1", act1.slots.reflection(lab)) if predicted1() else None


@app.cell
def act1_peek(act1, context, lab, predicted1):
    context()
    lab.peek("act1", act1.slots.peek(lab)) if predicted1() else None


@app.cell
def act2_message(act2, answered1, lab):
    lab.message("act2", act2.slots.message(lab)) if answered1() else lab.closed("act2")


@app.cell
def act2_lock(act2, answered1, lab):
    lab.lock("act2", act2.slots.lock(lab)) if answered1() else None


@app.cell
def act2_instrument(act2, answered1, lab):
    lab.instrument(
        "act2", act2.instrument.dials(lab), lambda values: act2.instrument.view(lab, values), follows=("device",)
    ) if answered1() else None


@app.cell
def act2_reveal(act2, lab, predicted2):
    lab.reveal("act2", act2.slots.truth(lab), act2.slots.distance(lab), act2.slots.reveal(lab)) if predicted2() else None


@app.cell
def act2_claims(act2, lab, predicted2):
    lab.claims("act2", act2.instrument.CLAIMS) if predicted2() else None


@app.cell
def act2_reflection(act2, lab, predicted2):
    lab.reflect("act2", act2.slots.reflection(lab)) if predicted2() else None


@app.cell
def act2_peek(act2, lab, predicted2):
    lab.peek("act2", act2.slots.peek(lab)) if predicted2() else None


@app.cell
def budget_message(act2, answered2, lab):
    lab.message("act2_budget", act2.budget_panel.message(lab)) if answered2() else None


@app.cell
def budget_lock(act2, answered2, lab):
    lab.lock("act2_budget", act2.budget_panel.lock(lab)) if answered2() else None


@app.cell
def budget_instrument(act2, answered2, lab):
    lab.instrument("act2_budget", act2.budget_panel.dials(lab), lambda values: act2.budget_panel.view(lab, values)) if answered2() else None


@app.cell
def budget_reveal(act2, decided, lab):
    lab.reveal("act2_budget", *act2.budget_panel.spent(lab)) if decided() else None


@app.cell
def takeaways(act2, decided, lab):
    lab.takeaways(act2.slots.takeaways(lab)) if decided() else None


@app.cell
def save(answered2, context, decided, design, lab, predicted1, predicted2, readouts):
    receipt = lab.save(design.design(lab), predicted1(), predicted2(), answered2(), decided(), context(), readouts())
    return (receipt,)


@app.cell
def hud(answered1, context, design, lab, receipt):
    lab.hud(design.readouts(lab, context(), answered1()), receipt)


if __name__ == "__main__":
    app.run()
