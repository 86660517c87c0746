"""Lab 07, The Kernel Fusion Dividend: a table of contents. The words are in words.md, the keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="Lab 07 · The Kernel Fusion Dividend")


@app.cell
def opened():
    from ironlaw import kit as _kit

    lab = _kit.open("lab_07_fusion")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.lab_07_fusion import act1, act2, design

    predicted1, answered1, predicted2, answered2 = lab.states("act1", "act1_reflection", "act2", "act2_reflection")
    filled, tried = lab.states("act2_why", "act2_challenge")
    context, readouts, measured = lab.states("context", "readouts", "measured")
    return act1, act2, answered1, answered2, context, design, filled, measured, predicted1, predicted2, readouts, tried


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
def act1_message(act1, lab):
    lab.message("act1", act1.slots.message(lab))


@app.cell
def act1_lock(act1, lab):
    lab.lock("act1", act1.slots.lock(lab))


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.instrument.dials(lab), lambda values: act1.instrument.view(lab, values))


@app.cell
def act1_reveal(act1, lab, predicted1):
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
def act1_peek(act1, lab, predicted1):
    lab.peek("act1", act1.slots.peek(lab)) if predicted1() else None


@app.cell
def act2_message(answered1, lab):
    lab.message("act2") if answered1() else lab.closed("act2")


@app.cell
def act2_lock(act2, answered1, lab):
    lab.lock("act2", act2.slots.rates()) if answered1() else None


@app.cell
def act2_instrument(act2, answered1, lab):
    lab.instrument(
        "act2", act2.fusion_panel.dials(lab), lambda values: act2.fusion_panel.view(lab, values), act2.fusion_panel.FOLLOWS
    ) if answered1() else None


@app.cell
def act2_attention(act2, answered1, lab):
    lab.instrument(
        "act2", act2.attention_panel.dials(lab), lambda values: act2.attention_panel.view(lab, values), (), "attention"
    ) if answered1() else None


@app.cell
def act2_roi(act2, answered1, lab):
    lab.instrument(
        "act2", act2.payback_panel.dials(lab), lambda values: act2.payback_panel.view(lab, values), act2.payback_panel.FOLLOWS, "roi"
    ) if answered1() else None


@app.cell
def act2_reveal(act2, lab, predicted2):
    lab.reveal("act2", act2.slots.truth(lab), act2.slots.distance(lab), act2.slots.reveal(lab)) if predicted2() else None


@app.cell
def act2_challenge(act2, lab, predicted2):
    lab.challenge(
        "act2", "act2_challenge", act2.slots.challenge(lab), lambda *said: act2.slots.challenge_feedback(lab, *said)
    ) if predicted2() else None


@app.cell
def act2_claims(act2, lab, measured, predicted2):
    lab.claims("act2", act2.slots.CLAIMS, act2.local_runs.claims(lab, measured())) if predicted2() else None


@app.cell
def act2_measure(act2, lab, predicted2):
    lab.measuring("act2", act2.local_runs.captions(lab)) if predicted2() else None


@app.cell
def act2_blanks(act2, lab, predicted2):
    lab.blanks("act2", ("act2_gain", "act2_why"), act2.slots.blanks(lab)) if predicted2() else None


@app.cell
def act2_reflection(act2, lab, predicted2):
    lab.reflect("act2", act2.slots.reflection(lab)) if predicted2() else None


@app.cell
def act2_peek(act2, lab, predicted2):
    lab.peek("act2", act2.slots.peek(lab)) if predicted2() else None


@app.cell
def takeaways(act2, answered2, filled, lab):
    lab.takeaways(act2.slots.takeaways(lab)) if answered2() and filled() else None


@app.cell
def save(answered2, context, design, filled, lab, predicted1, predicted2, readouts, tried):
    receipt = lab.save(design.design(lab), predicted1(), predicted2(), answered2(), filled(), tried(), context(), readouts())
    return (receipt,)


@app.cell
def hud(answered1, context, design, lab, readouts, receipt):
    lab.hud(design.readouts(lab, context(), answered1(), readouts()), receipt)


if __name__ == "__main__":
    app.run()
