// Python, beside the page. An act is answered only after its events are stored; what could not be stored is taken back.

import { startPython } from "./python.js";
import { inTurn, openStore } from "./store.js";

let store = null;
let trouble = "";
let desk = null;
let read = null; // makes the desk, from what is stored
let turn = null; // one window at a time

async function begin({ root, whose, copy }) {
  turn = (act) => inTurn(whose, act);
  const storing = openStore(whose).catch((error) => {
    trouble = `this browser stores no data for this page (${error?.message ?? error}); open it in a window that is not private, and allow it to keep data`;
    return null;
  });
  const { python: runtime, imaged } = await startPython();
  store = await storing;
  const make = runtime.globals.get("Desk");
  read = async () => {
    let owner = await store?.owner();
    if (!owner) {
      owner = runtime.globals.get("new_learner")(copy ?? "");
      await store?.own(owner).catch((error) => (trouble = `nothing can be written (${error?.message ?? error})`));
    }
    const head = (await store?.head()) ?? ""; // before the rows: another window may add some in between
    desk = make(owner, JSON.stringify((await store?.after(0)) ?? []), root, trouble, head);
  };
  await turn(read);
  if (copy) await act(JSON.stringify({ do: "restore", copy })); // what the course holds of it and this browser does not
  if (!imaged) postMessage({ imageless: true });
}

// What only the store knows about a ledger that is damaged; another window may have set it aside by now.
async function withStored(question) {
  const asked = JSON.parse(question);
  if (asked.do === "repair") {
    await read();
    asked.total = await store.last();
  }
  if (asked.do === "damaged") asked.kept = await store.aside();
  return JSON.stringify(asked);
}

async function act(question) {
  return turn(async () => {
    if (store && !desk.trouble) desk.hear(JSON.stringify(await store.after(desk.count)));
    const asked = store ? await withStored(question) : question; // which may make the desk anew
    const answer = desk.ask(asked);
    const rows = JSON.parse(desk.unsaved());
    if (!rows.length) return answer;
    const aside = desk.set_aside();
    try {
      if (!store) throw new Error(trouble);
      if (aside) await store.replace(...JSON.parse(aside), rows);
      else await store.add(rows, desk.count - rows.length);
    } catch (error) {
      if (aside) await read(); // as it was
      return desk.failed(String(error?.message ?? error));
    }
    desk.saved();
    return answer;
  });
}

let before = null; // one at a time: the next begins when this is done
onmessage = ({ data }) => {
  const { number, question, look } = data;
  before = (before ?? begin(data)).then(async () => {
    const answer = look ? desk.look(question) : await act(question);
    postMessage({ number, answer });
  });
  before = before.catch((error) => {
    postMessage({ number, error: String(error?.message ?? error) });
    if (!desk) throw error; // without Python nothing else can be answered either
  });
};
