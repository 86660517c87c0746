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
    from ironlaw.labs.lab_07_fusion import act1, design, dividend, here, panel_a, panel_b, tax

    predicted1, answered1, predicted2, answered2 = lab.states("act1", "act1_reflection", "act2", "act2_reflection")
    filled, tried = lab.states("act2_why", "act2_challenge")
    context, readouts, measured = lab.states("context", "readouts", "measured")
    return (
        act1, answered1, answered2, context, design, dividend, filled, here, measured, panel_a, panel_b, predicted1, predicted2, readouts,
        tax, tried,
    )  # fmt: skip


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
def act1_message(lab, tax):
    lab.message("act1", tax.message_slots(lab))


@app.cell
def act1_lock(lab, tax):
    lab.lock("act1", tax.lock_slots(lab))


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.dials(lab), lambda values: act1.view(lab, values))


@app.cell
def act1_reveal(lab, predicted1, tax):
    lab.reveal("act1", tax.truth(lab), tax.distance(lab), tax.reveal_slots(lab)) if predicted1() else None


@app.cell
def act1_claims(act1, here, lab, measured, predicted1):
    lab.claims("act1", act1.CLAIMS, here.claims(lab, "act1", measured())) if predicted1() else None


@app.cell
def act1_measure(here, lab, predicted1):
    lab.measuring("act1", here.told(lab, "act1")) if predicted1() else None


@app.cell
def act1_reflection(lab, predicted1, tax):
    lab.reflect("act1", tax.reflection_slots(lab)) if predicted1() else None


@app.cell
def act1_peek(lab, predicted1, tax):
    lab.peek("act1", tax.peek_slots(lab)) if predicted1() else None


@app.cell
def act2_message(answered1, lab):
    lab.message("act2") if answered1() else lab.closed("act2")


@app.cell
def act2_lock(answered1, dividend, lab):
    lab.lock("act2", dividend.rates()) if answered1() else None


@app.cell
def act2_instrument(answered1, lab, panel_a):
    lab.instrument("act2", panel_a.dials(lab), lambda values: panel_a.view(lab, values), panel_a.FOLLOWS) if answered1() else None


@app.cell
def act2_roi(answered1, lab, panel_b):
    lab.instrument("act2", panel_b.dials(lab), lambda values: panel_b.view(lab, values), panel_b.FOLLOWS, "roi") if answered1() else None


@app.cell
def act2_reveal(dividend, lab, predicted2):
    lab.reveal("act2", dividend.truth(lab), dividend.distance(lab), dividend.reveal_slots(lab)) if predicted2() else None


@app.cell
def act2_challenge(dividend, lab, predicted2):
    lab.challenge(
        "act2", "act2_challenge", dividend.challenge_slots(lab), lambda *said: dividend.challenge_told(lab, *said)
    ) if predicted2() else None


@app.cell
def act2_claims(dividend, here, lab, measured, predicted2):
    lab.claims("act2", dividend.CLAIMS, here.claims(lab, "act2", measured())) if predicted2() else None


@app.cell
def act2_measure(here, lab, predicted2):
    lab.measuring("act2", here.told(lab, "act2")) if predicted2() else None


@app.cell
def act2_blanks(dividend, lab, predicted2):
    lab.blanks("act2", ("act2_gain", "act2_why"), dividend.blank_slots(lab)) if predicted2() else None


@app.cell
def act2_reflection(dividend, lab, predicted2):
    lab.reflect("act2", dividend.reflection_slots(lab)) if predicted2() else None


@app.cell
def act2_peek(dividend, lab, predicted2):
    lab.peek("act2", dividend.peek_slots(lab)) if predicted2() else None


@app.cell
def takeaways(answered2, dividend, filled, lab):
    lab.takeaways(dividend.takeaway_slots(lab)) if answered2() and filled() else None


@app.cell
def save(answered2, context, design, filled, lab, predicted1, predicted2, readouts, tried):
    receipt = lab.save(design.design(lab), predicted1(), predicted2(), answered2(), filled(), tried(), context(), readouts())
    return (receipt,)


@app.cell
def hud(answered1, context, design, lab, readouts, receipt):
    lab.hud(design.readouts(lab, context(), answered1(), readouts()), receipt)


if __name__ == "__main__":
    app.run()
