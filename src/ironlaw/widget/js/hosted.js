// A page of our own that shows one piece: its traits are in the page as JSON, or in a file with all of its views; else its states go over
// the labs' socket.

const LOST = { dial: "", message: "The server does not answer. Start it again with: ironlaw labs" };
const SILENCE = 1500; // ms until a state that can't be sent is an error
const ADDRESS = 120; // ms: browsers limit how often an address may change

function hosted(traits) {
  const listeners = {};
  let unsent = 0;
  let address = 0;
  const tell = (name) => (listeners[`change:${name}`] ?? []).forEach((does) => does());
  const lost = () => {
    traits.view = { error: LOST, seq: traits.state.seq - 0.5 }; // newer than any answer so far, older than the one to this state
    tell("view");
  };
  const model = {
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    on: (name, does) => (listeners[name] ??= []).push(does),
    off: (name, does) => { listeners[name] = (listeners[name] ?? []).filter((other) => other !== does); },
    save_changes: () => {
      if (traits.views) { // all of them came with the piece: nobody is asked
        traits.view = { ...traits.views[Object.values(traits.state.dials).join(" ")], seq: traits.state.seq };
        queueMicrotask(() => tell("view"));
        return;
      }
      clearTimeout(unsent);
      unsent = direct.send(traits.spec.direct, traits.state) ? 0 : setTimeout(lost, SILENCE);
    },
    // the settings are in the address: a reload, a bookmark or a link brings the view back
    onView: ({ query }) => {
      if (!query) return;
      clearTimeout(address);
      address = setTimeout(() => history.replaceState(null, "", `?${query}${location.hash}`), ADDRESS);
    },
  };
  if (!traits.views) direct.opened(() => unsent && model.save_changes());
  return model;
}

// The piece whose traits are in a file of their own, drawn where the page has a place for it.
async function drawFromFile(place) {
  const answer = await fetch(place.dataset.traits);
  if (answer.ok) render({ model: hosted(await answer.json()), el: place });
}
