"""Lab V2-17, One System, One Budget: a table of contents. The words are in words.md, the keys in questions.toml."""

import marimo

__generated_with = "0.25.2"

app = marimo.App(width="full", app_title="Lab V2-17 · One System, One Budget")


@app.cell
def opened():
    from ironlaw import kit as _kit

    lab = _kit.open("lab_v2_17_synthesis")
    return (lab,)


@app.cell
def states(lab):
    from ironlaw.labs.lab_v2_17_synthesis import act1, act2, design

    predicted1, claims1, reflect1, why1 = lab.states("act1", "act1.claims", "act1.reflect", "act1.peek")
    open2, predicted2, claims2, reflect2 = lab.states("act2.lock", "act2", "act2.claims", "act2.reflect")
    why2, end = lab.states("act2.peek", "end")
    progress, context, readouts = lab.states("progress", "context", "readouts")
    return (
        act1, act2, claims1, claims2, context, design, end, open2, predicted1, predicted2, progress, readouts, reflect1, reflect2, why1,
        why2,
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
def act1_message(act1, lab):
    lab.message("act1", act1.slots.message(lab))


@app.cell
def act1_lock(act1, lab):
    lab.lock("act1", act1.slots.lock(lab))


@app.cell
def act1_instrument(act1, lab):
    lab.instrument("act1", act1.instrument.dials(lab), lambda values: act1.instrument.view(lab, values), follows=act1.instrument.FOLLOWS)


@app.cell
def act1_reveal(act1, lab, predicted1):
    lab.reveal("act1", act1.slots.truth(lab), act1.slots.distance(lab), act1.slots.reveal(lab)) if predicted1() else None


@app.cell
def act1_claims(act1, claims1, lab):
    lab.claims("act1", act1.instrument.CLAIMS) if claims1() else None


@app.cell
def act1_reflection(act1, lab, reflect1):
    lab.reflect("act1", act1.slots.reflection(lab)) if reflect1() else None


@app.cell
def act1_peek(act1, lab, why1):
    lab.peek("act1", act1.slots.peek(lab)) if why1() else None


@app.cell
def act2_message(act2, lab, open2):
    lab.message("act2", act2.slots.message(lab)) if open2() else lab.closed("act2")


@app.cell
def act2_lock(act2, lab, open2):
    lab.lock("act2", act2.slots.lock(lab)) if open2() else None


@app.cell
def act2_instrument(act2, lab, open2):
    (
        lab.instrument(
            "act2", act2.instrument.dials(lab), lambda values: act2.instrument.view(lab, values), follows=act2.instrument.FOLLOWS
        )
        if open2()
        else None
    )


@app.cell
def act2_hint(act2, lab, predicted2):
    lab.hint("act2", lambda values: act2.verdict.advise(lab, values)) if predicted2() else None


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
def receipt(act2, design, end, lab):
    lab.end(design.truths(lab), lambda: design.design(lab), act2.slots.takeaways(lab)) if end() else None


@app.cell
def hud(context, design, lab, progress, readouts):
    lab.hud(design.readouts(lab), design.design(lab), progress(), context(), readouts())


if __name__ == "__main__":
    app.run()
