// What the learner chose and pressed, kept in this tab until Python has answered: a server that dies, or a reload, loses nothing.
// A choice comes back as a choice. An act (committing, answering, going on) is done again, if what it leads to is not there yet.

const ACTS = ["commit", "answer", "act"];
const KINDS_KEPT = ["lock", "reflect", "number", "next", "save"];

const pending = {
  key: (model) => (KINDS_KEPT.includes(model.get("kind")) && model.get("spec")?.id ? `ironlaw:pending:${location.pathname}${model.get("spec").id}` : null),
  keep: (model, state) => store(pending.key(model), state),
  // an answer has come: what was done is in the ledger
  settle: (model, state) => store(pending.key(model), Object.fromEntries(Object.entries(state).filter(([name]) => !ACTS.includes(name) && name !== "again"))),
  drop: (model) => store(pending.key(model), null),
  read: (model) => {
    try {
      return JSON.parse(sessionStorage.getItem(pending.key(model)) ?? "null");
    } catch {
      return null;
    }
  },
};

function store(key, value) {
  if (!key) return;
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // storage is full or forbidden: only what a dying server would have lost is lost
  }
}

// Whether what the learner did has come about: committed, answered, gone on, saved.
const happened = (view) => Boolean(view.committed || view.answered || view.done || (view.saved && !view.changed));
