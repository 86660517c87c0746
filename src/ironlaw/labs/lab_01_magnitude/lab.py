"""Lab 01, The Magnitude Awakening: a table of contents. The words are in words.md, the keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="Lab 01 · The Magnitude Awakening")


@app.cell
def opened():
    from ironlaw import kit as _kit

    lab = _kit.open("lab_01_magnitude")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.lab_01_magnitude import act1, act2, design, here, law

    predicted1, answered1, predicted2, answered2 = lab.states("act1", "act1_reflection", "act2", "act2_reflection")
    context, readouts, measured = lab.states("context", "readouts", "measured")
    return act1, act2, answered1, answered2, context, design, here, law, measured, predicted1, predicted2, readouts


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
def act1_message(act1, lab, predicted1):
    lab.message("act1", act1.message_slots(lab, predicted1() > 0))


@app.cell
def act1_lock(lab):
    lab.lock("act1")


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.dials(lab), lambda values: act1.view(lab, values))


@app.cell
def act1_reveal(act1, lab, predicted1):
    lab.reveal("act1", act1.truth(lab), act1.distance(lab), act1.reveal_slots(lab)) if predicted1() else None


@app.cell
def act1_claims(act1, lab, predicted1):
    lab.claims("act1", act1.CLAIMS) if predicted1() else None


@app.cell
def act1_reflection(act1, lab, predicted1):
    lab.reflect("act1", act1.reflection_slots(lab)) if predicted1() else None


@app.cell
def act1_peek(act1, lab, predicted1):
    lab.peek("act1", act1.peek_slots(lab)) if predicted1() else None


@app.cell
def act2_message(answered1, lab):
    lab.message("act2") if answered1() else lab.closed("act2")


@app.cell
def act2_lock(answered1, lab):
    lab.lock("act2") if answered1() else None


@app.cell
def act2_instrument(act2, answered1, lab):
    lab.instrument("act2", act2.dials(lab), lambda values: act2.view(lab, values), follows=("device",)) if answered1() else None


@app.cell
def act2_reveal(lab, law, predicted2):
    lab.reveal("act2", law.truth(lab), law.distance(lab), law.reveal_slots(lab)) if predicted2() else None


@app.cell
def act2_claims(act2, here, lab, measured, predicted2):
    lab.claims("act2", act2.CLAIMS, here.claims(lab, measured())) if predicted2() else None


@app.cell
def act2_measure(here, lab, predicted2):
    lab.measuring("act2", here.told(lab)) if predicted2() else None


@app.cell
def act2_reflection(lab, law, predicted2):
    lab.reflect("act2", law.reflection_slots(lab)) if predicted2() else None


@app.cell
def act2_peek(lab, law, predicted2):
    lab.peek("act2", law.law_slots(lab)) if predicted2() else None


@app.cell
def takeaways(act1, answered2, lab, law):
    lab.takeaways(law.takeaway_slots(lab, act1.gaps(lab))) if answered2() else None


@app.cell
def save(answered2, context, design, lab, predicted1, predicted2, readouts):
    receipt = lab.save(design.design(lab), predicted1(), predicted2(), answered2(), context(), readouts())
    return (receipt,)


@app.cell
def hud(answered1, context, design, lab, receipt):
    lab.hud(design.readouts(lab, context(), answered1()), receipt)


if __name__ == "__main__":
    app.run()
