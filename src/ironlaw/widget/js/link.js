// The line to Python: the learner's state goes out, views come back.
// Only the latest state is sent, and only when the one before is answered: a held key makes no backlog.

const PATIENCE = 1500; // ms until an answer is given up and the next state is sent all the same
const SLOW = 400; // ms until a piece that has words for it says that it is computing
const REST = 300; // ms without a turn until the dials are at rest
const KEEP = "ironlaw:dials:";
const STORE = 100; // ms until where the dials stand is stored: not in the frame of a key
const PLACES = 32; // views that are kept while a dial is being turned
const FIGURES = 128; // pictures that are kept as read

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function link(model, redraw, show) {
  let sent = Number(model.get("state")?.seq ?? 0);
  let waitingSince = 0;
  let queued = false;
  let timer = 0;
  let slow = 0;
  let turned = -REST;
  let resting = 0;
  let yields = false; // whether what Python sets goes before what was sent: a context was chosen after the last turn
  let ahead = null; // where the dials will stand if the turn goes on
  let lookedAhead = -PATIENCE; // when that was last asked for, until it is answered
  let looked = null; // the view that came the short way, where it is newer than the model's
  let asked = ""; // the place whose view comes the short way
  let unstored = null; // dials that are not in the browser's storage yet
  let storing = 0;
  let restored = ""; // the page of the storage that the dials were restored from
  let since = null; // the model's view that the places belong to: with another one they may all be different
  const places = new Map(); // dials, as text -> the view there: where a turn has just been, and where it may go next
  const later = []; // what waits for the view of the place where the dials stand
  const token = model.get("spec")?.direct;
  const line = { state: model.get("state") ?? {}, touched: null, turns: 0 };

  const flush = () => {
    queued = false;
    sent += 1;
    waitingSince = performance.now();
    line.state = { ...line.state, seq: sent };
    asked = JSON.stringify(line.state.dials);
    if (!line.state.moving || !direct.send(token, line.state)) {
      model.set("state", line.state);
      model.save_changes();
    }
    clearTimeout(slow);
    slow = setTimeout(() => {
      line.slow = true;
      redraw();
    }, SLOW);
    clearTimeout(timer);
    timer = setTimeout(() => {
      waitingSince = 0;
      if (queued) flush();
      else settle();
    }, PATIENCE);
  };
  const settle = () => later.splice(0).forEach((act) => act());
  line.settled = (act) => (waitingSince ? later.push(act) : act());
  line.send = (change) => {
    line.state = { ...line.state, moving: undefined, ...change };
    pending.keep(model, line.state);
    if (waitingSince) queued = true;
    else flush();
    redraw();
  };
  const store = () => {
    if (unstored) keep(model, unstored);
    unstored = null;
  };
  const known = () => {
    if (since !== model.get("view")) places.clear();
    since = model.get("view");
    return places;
  };
  const visit = (place, view) => {
    if (view.error || !view.figures || Object.keys(view.moved ?? {}).length) return; // what is said once is not said again
    known().set(place, view);
    if (places.size > PLACES) places.delete(places.keys().next().value);
  };
  const lookAhead = () => {
    if (!ahead || known().has(JSON.stringify(ahead)) || performance.now() - lookedAhead < PATIENCE) return;
    if (direct.send(token, { ...line.state, dials: ahead, ahead: true })) lookedAhead = performance.now();
  };
  // Where the view is here already, picture and dial are drawn in the frame of the key. Python hears of it when the dials rest.
  const arrive = (dials, view) => {
    sent += 1;
    line.state = { ...line.state, dials, moving: true, seq: sent };
    looked = { ...view, seq: sent };
    show();
    lookAhead();
  };
  line.turn = (id, value, also = {}, next = undefined) => {
    line.touched = id;
    line.brings = undefined;
    yields = false;
    line.turns += 1;
    const dials = { ...line.state.dials, [id]: value, ...also };
    ahead = next === undefined || next === value ? null : { ...dials, [id]: next };
    unstored = dials;
    clearTimeout(storing);
    storing = setTimeout(store, STORE);
    // while a dial is being turned only the picture follows; the cells that show or save what it reads wait until it rests
    const moving = performance.now() - turned < REST || direct.ready(token) || undefined;
    turned = performance.now();
    clearTimeout(resting);
    resting = moving ? setTimeout(() => {
      resting = 0;
      line.send({});
    }, REST) : 0;
    const view = direct.ready(token) && known().get(JSON.stringify(dials));
    if (view) arrive(dials, view);
    else line.send({ dials, moving });
  };
  line.view = () => {
    const view = model.get("view") ?? {};
    return looked && looked.seq > (view.seq ?? 0) ? looked : view;
  };
  line.onAnswer = () => {
    if ((line.view().seq ?? 0) < sent) return;
    waitingSince = 0;
    line.slow = false;
    pending.settle(model, line.state);
    clearTimeout(timer);
    clearTimeout(slow);
    if (queued) return flush();
    settle();
    if (!line.state.moving) lookAhead(); // the dials rest: the next key goes on from here
  };
  // Python itself may set the state (a dial that could not stay, say), and then it has no number. What we have sent since
  // goes before it: Python will answer that. A context that was chosen since goes before both.
  line.onState = () => {
    const state = model.get("state") ?? {};
    if (state.seq !== undefined || (waitingSince && !yields)) return;
    line.state = state;
    if (state.dials && isKept(model)) keep(model, state.dials); // another context moved them: a reload finds them there
    redraw();
  };
  // Where the dials stood before a reload. Once a page of the storage: what Python sets later, for another context say, stays.
  line.restore = () => {
    const page = model.get("spec")?.locked ? "" : storeKey(model);
    if (page && page === restored) return;
    restored = page;
    const linked = linkedDials(model.get("spec"));
    store();
    if (linked) keep(model, linked);
    const dials = linked ?? storedDials(model);
    if (dials && !same(dials, line.state.dials)) line.send({ dials });
    const before = model.get("spec")?.dials ? null : pending.read(model);
    if (!before || happened(line.view())) return;
    const { seq, ...rest } = before;
    if (Object.keys(rest).length) line.send(rest);
  };
  // All dials at once, and the picture that they are about.
  line.put = (dials, picture, touched = null) => {
    ahead = unstored = null;
    yields = false;
    clearTimeout(resting);
    keep(model, dials);
    line.touched = touched;
    line.turns += 1;
    line.brings = picture;
    line.send({ dials });
  };
  // A sentence elsewhere on the page sets the question's case with some dials: each value is a text, and becomes what its dial holds. A hint
  // sets all of them and names no picture: the one in front stays.
  const onSet = ({ detail }) => {
    const { id, dials = [], locked, cases } = model.get("spec") ?? {};
    if (detail.id !== id || locked) return;
    const named = dials.filter((dial) => dial.id in detail.dials);
    const context = detail.context || cases?.asked || "";
    if (context) document.dispatchEvent(new CustomEvent("ironlaw:context", { detail: { id: `${id}.context`, context } })); // Python hears it before the dials
    const values = named.map((dial) => [dial.id, valueOf(dial, detail.dials[dial.id])]);
    const brings = detail.picture === undefined ? undefined : detail.picture || named.find((dial) => dial.shows)?.shows;
    line.put({ ...line.state.dials, ...cases?.dials?.[context], ...Object.fromEntries(values) }, brings);
  };
  const onContext = ({ detail }) => {
    if (model.get("spec")?.id === detail.id && line.state.value !== detail.context) line.send({ value: detail.context });
  };
  // A context is about to be chosen: where the dials have been turned to goes to Python first.
  const onChoosing = () => {
    const { dials, locked } = model.get("spec") ?? {};
    if (!dials || locked) return;
    store();
    clearTimeout(resting);
    if (resting || queued) {
      line.state = { ...line.state, moving: undefined };
      flush();
    }
    resting = 0;
    yields = true;
  };
  document.addEventListener("ironlaw:set", onSet);
  document.addEventListener("ironlaw:context", onContext);
  document.addEventListener("ironlaw:choosing", onChoosing);
  window.addEventListener("pagehide", store); // whoever reloads at once finds the dials, too
  line.stop = () => {
    document.removeEventListener("ironlaw:set", onSet);
    document.removeEventListener("ironlaw:context", onContext);
    document.removeEventListener("ironlaw:choosing", onChoosing);
    window.removeEventListener("pagehide", store);
    clearTimeout(timer);
    clearTimeout(slow);
    clearTimeout(resting);
    direct.leave(token);
  };
  if (token) {
    direct.listen(token, (view, place) => {
      visit(place ? JSON.stringify(place) : asked, view);
      if (place) {
        lookedAhead = -PATIENCE;
        if (known().get(JSON.stringify(place)) === view) line.onAhead?.(view);
      } else if (view.seq >= (looked?.seq ?? 0)) {
        looked = view;
        show();
      }
      lookAhead();
    });
  }
  return line;
}

function valueOf(dial, text) {
  if (dial.options) return dial.options.find((option) => String(option.value) === text)?.value ?? dial.value;
  return dial.type === "switch" ? text === "true" : Number(text);
}

// The view as it is drawn. Each figure comes as a text of its own: one whose text came before is the same object as then.
function views(newest) {
  const known = new Map(); // text -> figure, those seen last at the end
  let raw, view = {};
  const figure = (text) => {
    const made = known.get(text) ?? JSON.parse(text);
    known.delete(text);
    known.set(text, made);
    if (known.size > FIGURES) known.delete(known.keys().next().value);
    return made;
  };
  const read = (now) => (now.figures ? { ...now, figures: now.figures.map(figure), motions: now.motions?.map(figure) } : now);
  const latest = () => {
    const now = newest();
    if (now !== raw) view = read(now);
    raw = now;
    return view;
  };
  return Object.assign(latest, { read });
}

const storeKey = (model) => model.get("spec")?.store && KEEP + model.get("spec").store;

const isKept = (model) => {
  try {
    return Boolean(storeKey(model) && localStorage.getItem(storeKey(model)));
  } catch {
    return false;
  }
};

// A reload is a new page for Python: where the dials stood is only known here.
function keep(model, dials) {
  const key = storeKey(model);
  if (!key) return;
  try {
    const [place] = key.split("@"); // where they stood before the last save is no longer needed
    for (const other of Object.keys(localStorage)) if (other !== key && other.startsWith(`${place}@`)) localStorage.removeItem(other);
    localStorage.setItem(key, JSON.stringify(dials));
  } catch {
    // storage is full or forbidden: the dials work, they only begin anew after a reload
  }
}

// The stored dials over the defaults; only those that exist and whose value is still one of the options.
function storedDials(model) {
  const spec = model.get("spec") ?? {};
  if (!storeKey(model) || spec.locked) return null;
  try {
    const values = JSON.parse(localStorage.getItem(storeKey(model)) ?? "null");
    if (!values) return null;
    const valid = (dial) => dial.id in values && allowed(dial, values[dial.id]);
    return Object.fromEntries(spec.dials.map((dial) => [dial.id, valid(dial) ? values[dial.id] : dial.value]));
  } catch {
    return null;
  }
}
