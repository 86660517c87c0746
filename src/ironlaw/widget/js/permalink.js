// An address that brings back a view: the instrument's name and where its dials stand, after the #.

const VIEW = /^#view\/([\w.-]+)\/([\w-]+)$/;
const pack = (value) => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value)))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unpack = (text) => JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0))));

const addressOf = (spec, dials) => `${location.origin}${location.pathname}${location.search}#view/${spec.id}/${pack(dials)}`;

// The dials that the address asks of this instrument, over its defaults; null where it asks nothing, or nothing that can be read.
// Taken once: what the learner turns afterwards is theirs, also after a reload.
function linkedDials(spec) {
  const [, id, text] = location.hash.match(VIEW) ?? [];
  if (!id || id !== spec?.id || spec.locked || !spec.dials) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    const values = unpack(text);
    return Object.fromEntries(spec.dials.map((dial) => [dial.id, dial.id in values && allowed(dial, values[dial.id]) ? values[dial.id] : dial.value]));
  } catch {
    return null; // an address that was cut short
  }
}

// What can be done with a picture that says that it may be taken along, and with the view it belongs to.
function toolsView(figure, ctx) {
  if (!figure.export) return null;
  const { ui, spec, line } = ctx;
  const save = (kind) => (event) => {
    const svg = event.currentTarget.closest("section").querySelector(`[data-figure="${figure.id}"] .il-drawing`);
    if (svg) saveDrawing(svg, figure, kind);
  };
  const share = async () => {
    ui.local.address = addressOf(spec, line.state.dials);
    try {
      await navigator.clipboard.writeText(ui.local.address);
      ui.local.copied = "Copied.";
    } catch {
      ui.local.copied = "Copy it from the box."; // the browser keeps its clipboard to itself
    }
    ctx.redraw();
  };
  const current = ui.local.address && ui.local.address === addressOf(spec, line.state.dials);
  return h("div", { key: `tools:${figure.id}`, class: "il-tools", role: "group", "aria-label": "Share this view" },
    h("button", { type: "button", class: "il-preset", onclick: save("svg") }, "Save as SVG"),
    h("button", { type: "button", class: "il-preset", onclick: save("png") }, "Save as PNG"),
    h("button", { type: "button", class: "il-preset", onclick: share }, "Link to this view"),
    current ? h("input", { type: "text", readonly: true, "aria-label": "Link to this view", value: ui.local.address, onfocus: (event) => event.target.select() }) : null,
    h("span", { class: "il-quiet", role: "status" }, current ? ui.local.copied : ""));
}
