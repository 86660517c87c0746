// A lab in a notebook: one widget is the whole page, and Python answers through its traits.

export default {
  render({ model, el }) {
    const app = Object.assign(document.createElement("div"), { id: "App" });
    app.append(Object.assign(document.createElement("div"), { className: "il-column" }));
    el.append(app);
    const waiting = new Map(); // number of what was asked -> who waits for the answer
    let number = 0;
    const ask = (act) => new Promise((done) => {
      number += 1;
      waiting.set(number, done);
      model.set("asked", JSON.stringify({ ...act, number }));
      model.save_changes();
    });
    const hear = () => {
      const answer = JSON.parse(model.get("answer"));
      waiting.get(answer.number)?.(answer);
      waiting.delete(answer.number);
    };
    const tell = (place, error) => place.prepend(Object.assign(document.createElement("div"), { className: "il-banner il-fail", textContent: error.message }));
    model.on("change:answer", hear);
    ask({ piece: "" }).then(labPage({ ask, tell, style: STYLE, app }));
    return () => model.off("change:answer", hear);
  },
};
