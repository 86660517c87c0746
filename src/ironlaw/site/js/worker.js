// Python, beside the page. An act is answered only after its events are stored; what could not be stored is taken back.

import { startPython } from "./python.js";
import { inTurn, openStore } from "./store.js";

let store = null;
let trouble = "";
let desk = null;

async function begin(root) {
  const storing = openStore().catch((error) => {
    trouble = `this browser stores nothing for this page (${error?.message ?? error}); open it in a window that is not private, and allow it to keep data`;
    return null;
  });
  const { python: runtime, imaged } = await startPython();
  store = await storing;
  const make = runtime.globals.get("Desk");
  await inTurn(async () => {
    let owner = await store?.owner();
    if (!owner) {
      owner = runtime.globals.get("new_learner")();
      await store?.own(owner).catch((error) => (trouble = `nothing can be written (${error?.message ?? error})`));
    }
    desk = make(owner, JSON.stringify((await store?.after(0)) ?? []), root, trouble);
  });
  if (!imaged) postMessage({ imageless: true });
}

async function act(question) {
  return inTurn(async () => {
    if (store) desk.hear(JSON.stringify(await store.after(desk.count)));
    const answer = desk.ask(question);
    const rows = JSON.parse(desk.unsaved());
    if (!rows.length) return answer;
    try {
      if (!store) throw new Error(trouble);
      await store.add(rows, desk.count - rows.length);
    } catch (error) {
      return desk.failed(String(error?.message ?? error));
    }
    desk.saved();
    return answer;
  });
}

let before = null; // one at a time: the next begins when this is done
onmessage = ({ data }) => {
  const { number, root, question, look } = data;
  before = (before ?? begin(root)).then(async () => {
    const answer = look ? desk.look(question) : await act(question);
    postMessage({ number, answer });
  });
  before = before.catch((error) => {
    postMessage({ number, error: String(error?.message ?? error) });
    if (!desk) throw error; // without Python nothing else can be answered either
  });
};
