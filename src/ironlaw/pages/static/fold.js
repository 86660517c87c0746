// On a narrow screen, what is done or not asked for is folded to its title, so that a page stays a few screens long and what waits is near:
// a whole act that is done, and in a long act the places well behind the one that waits. The rail, a link into it and its own button open it.
// A wide screen shows everything of a lab. The review's sections are pages of their own on every screen: the one that was asked for is shown.

(() => {
  const NARROW = "screen and (max-width: 50rem)";
  const REST = 350; // ms without scrolling: nothing is folded under a moving page
  const FAR = 4; // so many places behind the one that waits, a place is folded
  const opened = new Set(); // the heads of what the learner has opened
  const sheet = new CSSStyleSheet(); // not classes: cells are drawn anew
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let rules = "";
  let timer = 0;

  const actOf = (id) => id.split("-")[0];
  const buttonOf = (id) => document.getElementById(id)?.querySelector(":scope > .il-unfold");
  const byId = (id) => `[id="${id}"]`;
  const rule = (id, hidden) => `${hidden.join()} { display: none !important; } ${byId(id)} > .il-unfold { display: inline-flex !important; }`;

  // The steps from this one to the next of these heads.
  function after(id, heads) {
    const steps = [...document.querySelectorAll(".il-step[id]")].map((step) => step.id);
    const rest = steps.slice(steps.indexOf(id) + 1);
    const next = rest.findIndex((step) => heads.includes(step));
    return (next < 0 ? rest : rest.slice(0, next)).map(byId);
  }

  // What folds unless it was opened: the step that stays as its title -> selectors of what is hidden.

  function acts(rail) {
    const done = new Map();
    for (const item of rail.querySelectorAll("[data-place]")) {
      const act = actOf(item.dataset.place);
      done.set(act, (done.get(act) ?? true) && item.classList.contains("il-done"));
    }
    const folded = [...done.keys()].filter((act) => done.get(act) && act !== actOf(rail.dataset.now));
    return folded.map((act) => [`${act}-message`, [`.il-step[id^="${act}-"]:not(${byId(`${act}-message`)}, .il-beyond)`, `${byId(`${act}-message`)} > .il-message`]]);
  }

  function places(rail) {
    const listed = [...rail.querySelectorAll("[data-place]")].map((item) => item.dataset.place).filter((id) => actOf(id) === actOf(rail.dataset.now));
    const far = listed.slice(0, Math.max(0, listed.indexOf(rail.dataset.now) - FAR + 1));
    return far.map((id) => [id, [`${byId(id)} > :not(.il-unfold)`, ...after(id, listed)]]);
  }

  function foldable() {
    const rail = document.querySelector(".il-rail");
    const all = !rail || rail.matches(".il-sections") ? [] : [...acts(rail), ...places(rail)];
    return new Map(all.filter(([head]) => buttonOf(head)));
  }

  // The review: its sections by the step that begins each, and the one that is shown.
  const sections = () => [...document.querySelectorAll(".il-rail.il-sections [data-place]")].map((item) => item.dataset.place);
  const sectionOf = (id, heads) => heads.find((head) => head === id || after(head, heads).includes(byId(id)));
  let shown = location.hash.slice(1);

  function otherSections(heads) {
    const here = sectionOf(shown, heads) ?? heads[0];
    return heads.filter((head) => head !== here).flatMap((head) => [byId(head), ...after(head, heads)]);
  }

  function newRules() {
    const heads = sections();
    if (heads.length) return `${otherSections(heads).join()} { display: none !important; }`;
    const parts = [...foldable()].filter(([head]) => !opened.has(head)).map(([head, hidden]) => rule(head, hidden));
    return parts.length ? `@media ${NARROW} {\n${parts.join("\n")}\n}` : "";
  }

  // `here` stays where it is on the screen.
  function fold(here = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest(".il-step, .il-end")) {
    timer = 0;
    const next = newRules();
    if (next === rules) return;
    rules = next;
    const before = here?.getBoundingClientRect().top;
    document.documentElement.style.overflowAnchor = "none";
    sheet.replaceSync(rules);
    const moved = here?.getClientRects().length ? here.getBoundingClientRect().top - before : 0;
    if (moved) scrollBy({ top: moved, behavior: "instant" }); // one by nothing would end the page's own way to a place
    document.documentElement.style.overflowAnchor = "";
    document.dispatchEvent(new CustomEvent("ironlaw:folded")); // no node has changed and perhaps nothing scrolled, but another place is in view
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => fold(), REST);
  }

  function unfold(id) {
    const place = document.getElementById(id);
    if (sections().length) shown = id;
    for (const head of [id, `${actOf(id)}-message`].filter((each) => foldable().has(each))) opened.add(head);
    fold(place ?? undefined);
  }

  addEventListener("DOMContentLoaded", () => new MutationObserver(() => (sections().length ? fold(null) : timer || soon())).observe(document.body, { childList: true, subtree: true }));
  addEventListener("scroll", () => timer && soon(), { passive: true });
  document.addEventListener("ironlaw:unfold", ({ detail }) => unfold(detail));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".il-unfold");
    if (!button) return;
    const place = button.closest(".il-step");
    unfold(place.id);
    place.setAttribute("tabindex", "-1");
    place.focus({ preventScroll: true }); // the button is gone
  });
})();
