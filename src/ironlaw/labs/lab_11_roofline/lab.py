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

    predicted1, claims1, reflect1, why1 = lab.states("act1", "act1.claims", "act1.reflect", "act1.peek")
    open2, predicted2, claims2, reflect2, why2 = lab.states("act2.lock", "act2", "act2.claims", "act2.reflect", "act2.peek")
    open3, decided = lab.states("act2_budget.lock", "act2_budget")
    open4, aimed, end = lab.states("act2_target.lock", "act2_target", "end")
    progress, context, readouts, measured = lab.states("progress", "context", "readouts", "measured")
    return (
        act1, act2, aimed, claims1, claims2, context, decided, design, end, measured, open2, open3, open4, predicted1, predicted2,
        progress, readouts, reflect1, reflect2, why1, why2,
    )  # fmt: skip


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
def act1_claims(act1, claims1, lab, measured):
    lab.claims("act1", act1.instrument.CLAIMS, act1.local_runs.claims(lab, measured())) if claims1() else None


@app.cell
def act1_measure(act1, claims1, lab):
    lab.measuring("act1", act1.local_runs.captions(lab)) if claims1() else None


@app.cell
def act1_reflection(act1, lab, reflect1):
    lab.reflect("act1", act1.slots.reflection(lab)) if reflect1() else None


@app.cell
def act1_peek(act1, context, lab, why1):
    context()
    lab.peek("act1", act1.slots.peek(lab)) if why1() else None


@app.cell
def act2_message(act2, lab, open2):
    lab.message("act2", act2.slots.message(lab)) if open2() else lab.closed("act2")


@app.cell
def act2_lock(act2, lab, open2):
    lab.lock("act2", act2.slots.lock(lab)) if open2() else None


@app.cell
def act2_instrument(act2, lab, open2):
    lab.instrument(
        "act2", act2.instrument.dials(lab), lambda values: act2.instrument.view(lab, values), follows=("device",)
    ) if open2() else None


@app.cell
def act2_reveal(act2, lab, predicted2):
    lab.reveal("act2", act2.slots.truth(lab), act2.slots.distance(lab), act2.slots.reveal(lab)) if predicted2() else None


@app.cell
def act2_claims(act2, claims2, lab):
    lab.claims("act2", act2.instrument.CLAIMS) if claims2() else None


@app.cell
def act2_reflection(act2, lab, reflect2):
    lab.reflect("act2", act2.slots.reflection(lab)) if reflect2() else None


@app.cell
def act2_peek(act2, lab, why2):
    lab.peek("act2", act2.slots.peek(lab)) if why2() else None


@app.cell
def budget_message(act2, lab, open3):
    lab.message("act2_budget", act2.budget_panel.message(lab)) if open3() else None


@app.cell
def budget_lock(act2, lab, open3):
    lab.lock("act2_budget", act2.budget_panel.lock(lab)) if open3() else None


@app.cell
def budget_instrument(act2, lab, open3):
    lab.instrument("act2_budget", act2.budget_panel.dials(lab), lambda values: act2.budget_panel.view(lab, values)) if open3() else None


@app.cell
def budget_reveal(act2, decided, lab):
    lab.reveal("act2_budget", *act2.budget_panel.spent(lab)) if decided() else None


@app.cell
def target_message(act2, lab, open4):
    lab.message("act2_target", act2.target_panel.message(lab)) if open4() else None


@app.cell
def target_lock(act2, lab, open4):
    lab.lock("act2_target", act2.target_panel.lock(lab), act2.target_panel.estimate(lab)) if open4() else None


@app.cell
def target_instrument(act2, lab, open4):
    lab.instrument("act2_target", act2.target_panel.dials(lab), lambda values: act2.target_panel.view(lab, values)) if open4() else None


@app.cell
def target_design(act2, aimed, lab):
    lab.decide("act2_target", lambda values: act2.target_panel.judge(lab, values)) if aimed() else None


@app.cell
def target_reveal(act2, aimed, lab):
    lab.reveal("act2_target", *act2.target_panel.spent(lab)) if aimed() else None


@app.cell
def receipt(act2, design, end, lab):
    lab.end(design.truths(lab), lambda: design.design(lab), act2.slots.takeaways(lab)) if end() else None


@app.cell
def hud(context, design, lab, progress, readouts):
    lab.hud(design.readouts(lab), design.design(lab), progress(), context(), readouts())


if __name__ == "__main__":
    app.run()
