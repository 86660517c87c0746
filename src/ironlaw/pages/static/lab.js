// The page around a lab: where the learner is, where they were, and what to do when the server is gone. The lab itself is the widget's;
// this runs before it, and meets it only in the page.

(() => {
  const HEALTH = `${location.pathname}health`;
  const KEPT = `ironlaw:scroll:${location.pathname}`;
  const RECENT = 500; // ms: what moves so soon after a key or the pointer, they have moved
  const PATIENCE = 60000; // ms: a lab that has not been drawn by then is left where it is
  const { start, port, hub } = document.currentScript.dataset; // how it is started, and the port that it takes by itself; or a hub starts it
  const BEAT = hub ? 5000 : 1000; // ms between two looks for a server that is gone
  const asked = decodeURIComponent(location.hash.slice(1)); // the instrument of a link to a view takes its part of the address away
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // --- how wide the page is beside a scroll bar that takes room: header and rail go all the way across, and no further

  const root = document.documentElement;
  new ResizeObserver(() => root.style.setProperty("--il-across", `${root.clientWidth}px`)).observe(root);

  // --- the server is gone: say so once, in words, and come back by itself. The widget keeps what is pressed meanwhile.

  let lost = false;
  let leaving = false;
  addEventListener("pagehide", () => (leaving = true));
  const alive = () => fetch(HEALTH, { cache: "no-store" }).then(async (answer) => answer.ok && (await answer.text()).startsWith("here"), () => false); // not a page to sign in
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  document.addEventListener("ironlaw:lost", () => setTimeout(suspect, 50));

  async function suspect() {
    if (lost || leaving) return;
    if (settled) remember();
    lost = true;
    if (!(await alive())) tell();
    while (!(await alive())) await pause(BEAT);
    if (!leaving) location.reload(); // a server that was started again knows nothing of this page: a new one, from the ledger, where this one was
  }

  function tell() {
    if (leaving) return;
    const banner = document.createElement("div");
    banner.id = "il-lost";
    banner.setAttribute("role", "alert");
    const strong = Object.assign(document.createElement("strong"), { textContent: hub ? "Your Jupyter server has stopped. " : "ironlaw has stopped. " });
    const code = Object.assign(document.createElement("code"), { textContent: location.port === port ? start : `${start} --port ${location.port}` });
    const again = Object.assign(document.createElement("a"), { textContent: "start it again", href: location.href.split("#")[0] });
    const saved = "What you committed is saved, and what you choose or press now will not be lost. To continue, ";
    if (hub) banner.append(strong, saved, again, "; the page comes back where you left it.");
    else banner.append(strong, saved, "run ", code, " in a terminal; this page then reconnects by itself, where you left it.");
    document.body.prepend(banner);
    document.documentElement.classList.add("il-is-lost");
  }

  // --- nobody did anything for a while, and a hub's server has ended: it starts again when somebody does

  document.addEventListener("ironlaw:asleep", () => {
    if (settled) remember();
    lost = true;
    sayOnce("The labs have paused, because nothing happened here for a while. What you committed is saved. Click or press a key to continue.");
    for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => location.reload(), { once: true });
  });

  // --- another version than at the last visit: said once. What a page is made of has its version in its address.

  const BUILD = "ironlaw:build";
  const UPDATED = "ironlaw was updated since you last opened a lab. Everything you committed and saved is here.";
  function tellUpdated() {
    const parts = [...document.querySelectorAll("script[src], link[rel=stylesheet]")].map((part) => part.src || part.href);
    const named = parts.flatMap((address) => address.match(/[a-z]+[-/][0-9a-f]{12}(?=\/)/) ?? []);
    const build = [document.querySelector("meta[name=ironlaw-version]")?.content, ...new Set(named)].join(" ");
    try {
      const before = localStorage.getItem(BUILD);
      localStorage.setItem(BUILD, build);
      if (before && before !== build) sayOnce(UPDATED);
    } catch {
      // forbidden: then nobody knows what was here before
    }
  }

  function sayOnce(text) {
    const line = Object.assign(document.createElement("p"), { id: "il-updated", textContent: text });
    line.setAttribute("role", "status");
    document.body.prepend(line);
  }
  document.addEventListener("ironlaw:newer", ({ detail }) => document.getElementById("il-updated") || sayOnce(detail));

  // --- places: the rail follows the scroll; a reload, Back and "continue" land where the learner was

  const everyPlace = () => [...document.querySelectorAll(".il-rail [data-place]")].map((item) => ({ item, place: document.getElementById(item.dataset.place) }));
  const places = () => everyPlace().filter(({ place }) => place?.getClientRects().length);
  const LANDING = 96; // px from the top: the rail, and a little more
  let frame = 0;
  let settled = false; // nothing is remembered until the page stands where it should
  let acted = -Infinity; // when the learner last did something
  const OURS = ["keydown", "pointerdown", "wheel", "touchmove"];
  const act = () => {
    acted = performance.now();
    if (lost) soon();
  };
  for (const kind of OURS) addEventListener(kind, act, { passive: true });

  function follow() {
    frame = 0;
    const line = Math.min(0.4 * innerHeight, 320);
    const shown = places();
    const top = ({ place }) => (document.getElementById(place.id.replace(/-lock$/, "-message")) ?? place).getBoundingClientRect().top; // an act begins with its message
    // where a link of the rail leads is where the learner is, also where the next place begins right under it
    const landed = shown.find((each) => top(each) >= 0 && top(each) <= LANDING);
    const here = landed ?? shown.filter((each) => top(each) <= line).pop() ?? shown[0];
    for (const { item } of everyPlace()) {
      const now = item === here?.item;
      const link = item.querySelector("a");
      if (now === (link.getAttribute("aria-current") === "step")) continue;
      if (now) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
      if (now) for (const act of document.querySelectorAll(".il-rail .il-act")) act.classList.toggle("il-here", act.contains(item));
    }
    document.body.classList.toggle("il-own-device", ownDevice(line));
    // without a server the banner comes and goes, and the page moves by itself
    if (settled && (!lost || performance.now() - acted < RECENT)) remember();
  }

  // In view is an instrument whose question names the device: the HUD's, which is the context's, would be another one.
  function ownDevice(line) {
    const instruments = [...document.querySelectorAll(".il-step-instrument")];
    const inView = ({ top, bottom }) => top <= line && bottom > line;
    return Boolean(instruments.find((each) => inView(each.getBoundingClientRect()))?.querySelector("[data-fixed]"));
  }

  const soon = () => (frame ||= requestAnimationFrame(follow));
  let drawing = 0;
  const eventually = () => (drawing ||= setTimeout(() => ((drawing = 0), soon()), 150)); // never in the frame of a dial that turns
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  document.addEventListener("ironlaw:folded", soon);

  // kept as a place and a distance from it: figures above may be drawn later, or otherwise
  function remember() {
    const near = places().filter(({ place }) => place.getBoundingClientRect().top <= innerHeight / 2).pop();
    const kept = near ? { place: near.place.id, from: Math.round(near.place.getBoundingClientRect().top) } : { top: Math.round(scrollY) };
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(kept));
    } catch {
      // forbidden: a reload begins at the step that waits
    }
  }

  function kept() {
    const kind = performance.getEntriesByType("navigation")[0]?.type;
    if (kind === "navigate") return null;
    try {
      return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    } catch {
      return null;
    }
  }

  function named() {
    const [, view] = /^view\/([\w.]+)\//.exec(asked) ?? [];
    return view ? (view.includes(".") ? view.replace(".", "-") : `${view}-instrument`) : asked;
  }

  function destination() {
    const rail = document.querySelector(".il-rail[data-now]");
    if (asked && document.getElementById(named())) return { place: named(), from: null };
    if (!rail) return kept() ?? { top: 0 };
    const first = rail.querySelector("[data-place]")?.dataset.place;
    return kept() ?? (rail.dataset.now && rail.dataset.now !== first ? { place: rail.dataset.now, from: null } : { top: 0 });
  }

  const unfold = (place) => document.dispatchEvent(new CustomEvent("ironlaw:unfold", { detail: place.id })); // fold.js
  function arrive() {
    history.scrollRestoration = "manual";
    const until = performance.now() + PATIENCE;
    let touched = false;
    const touch = () => (touched = true);
    for (const kind of OURS) addEventListener(kind, touch, { once: true, passive: true });
    let same = 0;
    let last = "";
    let held = null; // the destination, once the page has stood still there
    let put = null; // where it was put, and how tall the page was then
    const height = () => document.documentElement.scrollHeight;
    const moved = () => held && put?.height === height() && Math.abs(scrollY - put.top) > 2; // by the scroll bar or a screen reader, which press nothing
    const land = () => {
      if (touched || moved() || performance.now() > until) return finish(); // a page that moves by itself while it is drawn does not count
      const to = held ?? (document.querySelector(".il-rail, .il-hud") && destination());
      const place = to?.place && document.getElementById(to.place);
      if (place && (!place.getClientRects().length || (!held && asked))) unfold(place);
      if (place?.getClientRects().length) scrollTo({ top: scrollY + place.getBoundingClientRect().top - (to.from ?? 64), behavior: "instant" });
      else if (to?.top !== undefined) scrollTo({ top: to.top, behavior: "instant" });
      put = { top: scrollY, height: height() };
      const stands = `${height()} ${Boolean(to)} ${place?.getClientRects().length}`;
      same = to && (place || !to.place) && stands === last ? same + 1 : 0; // a place may come after the rail that names it
      last = stands;
      if (same >= 8) finish(to);
      setTimeout(land, same < 8 ? 60 : 250); // figures above it may be drawn late: held until the learner moves
    };
    const finish = (to) => {
      held ??= to;
      if (settled) return;
      settled = true;
      soon();
    };
    land();
  }

  addEventListener("DOMContentLoaded", () => {
    tellUpdated();
    arrive();
    new MutationObserver(eventually).observe(document.body, { childList: true, subtree: true });
  });
  // a sentence that sets dials: the instrument of that name hears it, and comes into view
  document.addEventListener("click", (event) => {
    const sentence = event.composedPath()[0]?.closest?.(".il-set"); // it may stand inside a piece, whose nodes the page does not see
    if (!sentence) return;
    const { set, dials, context, picture } = sentence.dataset;
    document.dispatchEvent(new CustomEvent("ironlaw:set", { detail: { id: set, context, picture, dials: Object.fromEntries(new URLSearchParams(dials)) } }));
    const place = document.getElementById(set.includes(".") ? set.replace(".", "-") : `${set}-instrument`);
    if (!place) return;
    unfold(place);
    place.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
  });
  // the rail's links: the place gets the focus too
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".il-rail a[href^='#'], .il-skip");
    const place = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!place) return;
    event.preventDefault();
    unfold(place);
    place.setAttribute("tabindex", "-1");
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
    history.replaceState(history.state, "", `#${place.id}`);
  });
})();
