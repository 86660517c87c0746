// A lab's page: its cells where they stand, and a piece in every place that a cell leaves for one. Who is asked depends on the host:
// `ask` for what the learner does, `tell` for what went wrong, `acted` when something was done.

function labPage({ ask, tell, acted = () => {}, style, app = document.getElementById("App") }) {
  const root = app.getRootNode(); // the document, or the shadow in which a notebook draws
  ground = root;
  const pieces = new Map(); // name -> model, and how to end it
  const cellOf = (name) => root.getElementById(`cell-${name}`);
  const sheet = new CSSStyleSheet(); // one for all pieces, parsed once
  sheet.replaceSync(style);

  function modelOf(name, traits) {
    const listeners = {};
    const notify = (trait) => (listeners[`change:${trait}`] ?? []).forEach((does) => does());
    return {
      get: (trait) => traits[trait],
      set: (trait, value) => { traits[trait] = value; },
      on: (event, does) => (listeners[event] ??= []).push(does),
      off: (event, does) => { listeners[event] = (listeners[event] ?? []).filter((other) => other !== does); },
      save_changes: () => ask({ piece: name, state: traits.state }).then(apply, (error) => tell(app, error)),
      update: (changes) => {
        Object.assign(traits, changes);
        for (const trait of ["spec", "state", "view"]) if (trait in changes) notify(trait);
      },
    };
  }

  function fillCell(name, html, traits) {
    const cell = cellOf(name);
    const place = cell.contains(root.activeElement) && root.activeElement.closest("[id]").id; // who works by keyboard stays there
    for (const { dataset } of cell.querySelectorAll("[data-piece]")) {
      pieces.get(dataset.piece)?.end();
      pieces.delete(dataset.piece);
    }
    cell.innerHTML = html;
    for (const element of cell.querySelectorAll("[data-piece]")) {
      const id = element.dataset.piece;
      const shadow = element.attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = [sheet];
      const model = modelOf(id, traits[id]);
      pieces.set(id, { model, end: render({ model, el: shadow }) });
    }
    if (place) focusOn(root.getElementById(place));
  }

  function focusOn(place) {
    place?.setAttribute("tabindex", "-1");
    place?.focus({ preventScroll: true });
  }

  function apply(changes) {
    if (changes.error) return tell(app, new Error(changes.error));
    if (changes.said) return open(changes); // what was done could not be stored: the page as the ledger has it
    for (const [id, traits] of Object.entries(changes.pieces)) pieces.get(id)?.model.update(traits);
    for (const [name, html] of Object.entries(changes.cells)) fillCell(name, html, changes.new);
    return acted();
  }

  function open({ cells, pieces: traits, said, error }) {
    if (error) return tell(app, new Error(error));
    document.getElementById("opening")?.remove();
    const places = app.querySelector(".il-column");
    for (const [name, html] of Object.entries(cells)) {
      if (!cellOf(name)) places.append(Object.assign(document.createElement("div"), { className: "il-cell", id: `cell-${name}` }));
      fillCell(name, html, traits);
    }
    document.getElementById("il-said")?.remove();
    if (!said) return undefined;
    const box = Object.assign(document.createElement("div"), { id: "il-said", className: "il-banner il-fail", textContent: said });
    box.setAttribute("role", "alert");
    return document.body.prepend(box);
  }

  return open;
}
