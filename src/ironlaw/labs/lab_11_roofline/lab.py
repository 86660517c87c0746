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
    from ironlaw.labs.lab_11_roofline import act1, act2, design, here, words1, words2

    predicted1, answered1, predicted2, answered2 = lab.states("act1", "act1_reflection", "act2", "act2_reflection")
    context, readouts, measured = lab.states("context", "readouts", "measured")
    return act1, act2, answered1, answered2, context, design, here, measured, predicted1, predicted2, readouts, words1, words2


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
def act1_message(context, lab, words1):
    context()
    lab.message("act1", words1.message_slots(lab))


@app.cell
def act1_lock(lab, words1):
    lab.lock("act1", words1.lock_slots(lab))


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.dials(lab), lambda values: act1.view(lab, values), follows=("device",))


@app.cell
def act1_reveal(context, lab, predicted1, words1):
    context()
    lab.reveal("act1", words1.truth(lab), words1.distance(lab), words1.reveal_slots(lab)) if predicted1() else None


@app.cell
def act1_claims(act1, here, lab, measured, predicted1):
    lab.claims("act1", act1.CLAIMS, here.claims(lab, measured())) if predicted1() else None


@app.cell
def act1_measure(here, lab, predicted1):
    lab.measuring("act1", here.told(lab)) if predicted1() else None


@app.cell
def act1_reflection(lab, predicted1, words1):
    lab.reflect("act1", words1.reflection_slots(lab)) if predicted1() else None


@app.cell
def act1_peek(context, lab, predicted1, words1):
    context()
    lab.peek("act1", words1.peek_slots(lab)) if predicted1() else None


@app.cell
def act2_message(answered1, lab, words2):
    lab.message("act2", words2.message_slots(lab)) if answered1() else lab.closed("act2")


@app.cell
def act2_lock(answered1, lab, words2):
    lab.lock("act2", words2.lock_slots(lab)) if answered1() else None


@app.cell
def act2_instrument(act2, answered1, lab):
    lab.instrument("act2", act2.dials(lab), lambda values: act2.view(lab, values), follows=("device",)) if answered1() else None


@app.cell
def act2_reveal(lab, predicted2, words2):
    lab.reveal("act2", words2.truth(lab), words2.distance(lab), words2.reveal_slots(lab)) if predicted2() else None


@app.cell
def act2_claims(act2, lab, predicted2):
    lab.claims("act2", act2.CLAIMS) if predicted2() else None


@app.cell
def act2_reflection(lab, predicted2, words2):
    lab.reflect("act2", words2.reflection_slots(lab)) if predicted2() else None


@app.cell
def act2_peek(lab, predicted2, words2):
    lab.peek("act2", words2.peek_slots(lab)) if predicted2() else None


@app.cell
def takeaways(answered2, lab, words2):
    lab.takeaways(words2.takeaway_slots(lab)) if answered2() else None


@app.cell
def save(answered2, context, design, lab, predicted1, predicted2, readouts):
    receipt = lab.save(design.design(lab), predicted1(), predicted2(), answered2(), context(), readouts())
    return (receipt,)


@app.cell
def hud(answered1, context, design, lab, receipt):
    lab.hud(design.readouts(lab, context(), answered1()), receipt)


if __name__ == "__main__":
    app.run()
