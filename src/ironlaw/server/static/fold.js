// On a narrow screen an act that is done is folded to its title: a lab stays a few screens long, and the act that waits is near.
// The rail, a link into it and its own button open it again. A wide screen shows everything.

(() => {
  const NARROW = "screen and (max-width: 50rem)";
  const REST = 350; // ms without scrolling: nothing is folded under a moving page
  const opened = new Set(); // acts that the learner has opened again
  const sheet = new CSSStyleSheet(); // not classes: marimo draws its cells anew
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let rules = "";
  let timer = 0;

  const actOf = (id) => id.split("-")[0];
  const buttonOf = (act) => document.getElementById(`${act}-message`)?.querySelector(".il-unfold");

  // Acts whose every place is done; not the one that the learner is in.
  function finished() {
    const rail = document.querySelector(".il-rail[data-now]");
    const acts = new Map();
    for (const item of rail?.querySelectorAll("[data-place]") ?? []) {
      const act = actOf(item.dataset.place);
      acts.set(act, (acts.get(act) ?? true) && item.classList.contains("il-done"));
    }
    return [...acts].filter(([act, done]) => done && act !== actOf(rail.dataset.now) && buttonOf(act)).map(([act]) => act);
  }

  const rule = (act) => `@media ${NARROW} { .il-step[id^="${act}-"]:not([id="${act}-message"]), [id="${act}-message"] > .il-message { display: none !important; } [id="${act}-message"] > .il-unfold { display: inline-flex !important; } }`;

  function fold() {
    timer = 0;
    const next = finished().filter((act) => !opened.has(act)).map(rule).join("\n");
    if (next === rules) return;
    rules = next;
    // what is looked at stays where it is
    const here = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest(".il-step, .il-end");
    const before = here?.getBoundingClientRect().top;
    document.documentElement.style.overflowAnchor = "none";
    sheet.replaceSync(rules);
    if (here?.getClientRects().length) scrollBy({ top: here.getBoundingClientRect().top - before, behavior: "instant" });
    document.documentElement.style.overflowAnchor = "";
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(fold, REST);
  }

  function unfold(id) {
    opened.add(actOf(id));
    fold();
  }

  addEventListener("DOMContentLoaded", () => new MutationObserver(() => timer || soon()).observe(document.body, { childList: true, subtree: true }));
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
