// The glossary: a marked word explains itself on hover, tap and focus. The box can be pointed at, stays until pointer and focus are gone,
// and Escape closes it (WCAG 1.4.13). `look(id)` gives the explanation, or a promise of it. Of the words of a place one is a Tab stop; the
// left and right arrow keys go to the others, and the box says so.

const WORDS_PLACE = ".il-step, .il-home, section, main, body";
const placeOfWord = (word) => word.closest(WORDS_PLACE) ?? document.body;

function wordsIn(place) {
  return [...place.querySelectorAll(".il-gloss")].filter((word) => placeOfWord(word) === place && word.checkVisibility()); // not in a fold
}

function makeStop(words, stop) {
  for (const word of words) word.tabIndex = word === stop ? 0 : -1;
}

// Words that are hidden keep the stop of their own passage, and lose it when they are shown beside others.
function oneStopEach() {
  for (const place of new Set([...document.querySelectorAll(".il-gloss")].map(placeOfWord))) {
    const words = wordsIn(place);
    makeStop(words, words.find((word) => word === document.activeElement) ?? words.find((word) => word.tabIndex === 0) ?? words[0]);
  }
}

function arrowKey(event, word) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const words = wordsIn(placeOfWord(word));
  if (words.length < 2) return;
  event.preventDefault();
  const next = words[(words.indexOf(word) + step + words.length) % words.length];
  makeStop(words, next);
  next.focus();
}

function startGlossary(look) {
  const SETTLED = 400; // ms after a change of the page until its Tab stops are chosen
  const GRACE = 250; // ms in which the pointer may cross from the word to the box
  let box = null;
  let word = null; // the one that is explained, or about to be
  let later = 0;
  const wordIn = (event) => event.composedPath().find((node) => node.classList?.contains("il-gloss"));
  const within = (event) => box && event.composedPath().includes(box);
  const line = (tag, text, kind) => Object.assign(document.createElement(tag), { textContent: text, className: kind ?? "" });

  function draw(term) {
    const drawn = line("div", "", "il-explained");
    drawn.id = "il-explained";
    drawn.setAttribute("role", "tooltip");
    const figure = line("p", `${term.label}: `, "il-explained-figure");
    figure.append(line("b", term.value));
    drawn.append(line("strong", term.name), line("p", term.says), figure, line("p", term.source, "il-explained-source"));
    const others = wordsIn(placeOfWord(word)).length - 1;
    if (others > 0 && word.matches(":focus-visible")) drawn.append(line("p", `← → ${others} more here`, "il-explained-keys"));
    return drawn;
  }

  // under the word, or over it where there is no room below; within the window
  function place() {
    if (!box) return;
    if (!word.isConnected) return hide();
    const [at, own] = [word.getClientRects()[0] ?? word.getBoundingClientRect(), box.getBoundingClientRect()];
    box.style.visibility = at.bottom < 0 || at.top > innerHeight ? "hidden" : "visible";
    const under = at.bottom + 6;
    const top = under + own.height > innerHeight - 60 && at.top - own.height > 6 ? at.top - own.height - 6 : under;
    box.style.left = `${Math.round(Math.max(8, Math.min(at.left, innerWidth - own.width - 8)))}px`;
    box.style.top = `${Math.round(top)}px`;
  }

  async function show(target) {
    clearTimeout(later);
    if (word === target) return;
    hide();
    word = target;
    const term = await look(target.dataset.term);
    if (word !== target || !target.isConnected || !term) return;
    box = draw(term);
    (target.closest(".il-home") ?? document.body).append(box); // in the same tree as the word, so that it can describe it
    box.popover = "manual";
    box.showPopover?.();
    target.setAttribute("aria-describedby", box.id);
    place();
  }

  function hide() {
    clearTimeout(later);
    box?.remove();
    word?.removeAttribute("aria-describedby");
    box = word = null;
  }

  const leave = () => {
    clearTimeout(later);
    later = setTimeout(() => {
      if (!word?.matches(":focus, :hover") && !box?.matches(":hover")) hide();
    }, GRACE);
  };
  let pointed = ""; // where the pointer was: a page that scrolls under a resting one says that it moved, and nobody pointed at anything
  document.addEventListener("mousemove", (event) => {
    const at = `${event.screenX} ${event.screenY}`;
    if (at === pointed) return;
    pointed = at;
    const target = wordIn(event);
    if (target) show(target);
    else if (within(event)) clearTimeout(later);
    else if (word) leave();
  });
  document.addEventListener("focusin", (event) => {
    const target = wordIn(event);
    if (target) show(target);
    else if (word) leave();
  });
  document.addEventListener("focusout", () => word && leave());
  // a focus that moves within one piece is not told to the page around it; the key that moved it is
  document.addEventListener("keyup", (event) => {
    if (event.key !== "Tab") return;
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    if (focused?.classList.contains("il-gloss")) show(focused);
    else if (word) leave();
  });
  document.addEventListener("pointerdown", (event) => {
    const target = wordIn(event);
    if (target) show(target);
    else if (word && !within(event)) hide();
  });
  document.addEventListener("keydown", (event) => {
    const target = wordIn(event);
    if (target) arrowKey(event, target);
    if (event.key !== "Escape" || !box) return;
    event.stopPropagation(); // it closes this, and nothing around it
    hide();
  }, true);
  let counting = 0;
  const count = () => (counting ||= setTimeout(() => ((counting = 0), oneStopEach()), SETTLED));
  new MutationObserver(count).observe(document.documentElement, { childList: true, subtree: true });
  document.addEventListener("toggle", count, true); // a <details> shows or hides some
  count();
  addEventListener("scroll", place, { passive: true, capture: true });
  addEventListener("resize", place);
}
