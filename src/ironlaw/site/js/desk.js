// The line to Python in its worker: `ask` for what counts, `direct` for a dial that is being turned (as in widget/js/direct.js).

const ROOT = document.documentElement.dataset.root;
// In a package for a course system (js/course.js): what the page around this one offers. It is of the same host, or it is not ours.
const COURSE = (() => {
  if (document.documentElement.dataset.course === undefined) return null;
  for (const around of [window.parent, window.opener]) {
    try {
      if (around?.ironlawCourse) return around.ironlawCourse;
    } catch {
      // a page of another host, into which nobody can look
    }
  }
  return null;
})();
const CALM = 4000; // ms until a page that stands is left to itself

// The next visit starts from an image of Python's memory; making it takes a processor for some seconds, so only once nothing is asked.
let image = 0;
function prepareImage() {
  clearTimeout(image);
  image = setTimeout(() => {
    image = 0;
    if (!globalThis.caches) return; // not over a secure connection
    const maker = new Worker(new URL("./image.js", import.meta.url), { type: "module" });
    maker.onmessage = ({ data }) => {
      document.documentElement.dataset.image = data; // for tests and benchmarks
      maker.terminate();
    };
  }, CALM);
}

const desk = (() => {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const waiting = new Map();
  let number = 0;
  let failure = null;
  const send = (message) => new Promise((done, fail) => {
    if (failure) return fail(failure);
    if (image) prepareImage();
    waiting.set((number += 1), { done, fail });
    worker.postMessage({ number, root: ROOT, whose: COURSE?.whose, copy: COURSE?.copy, ...message });
  });
  worker.onmessage = ({ data }) => {
    if (data.imageless) return prepareImage();
    const { done, fail } = waiting.get(data.number);
    waiting.delete(data.number);
    if (data.error === undefined) done(JSON.parse(data.answer));
    else fail(new Error(data.error));
  };
  worker.onerror = (event) => {
    failure = new Error(event.message || "its worker could not be started");
    for (const { fail } of waiting.values()) fail(failure);
    waiting.clear();
  };
  let telling = 0;
  const tellCourse = () => {
    clearTimeout(telling);
    telling = setTimeout(() => send({ question: JSON.stringify({ do: "progress", room: COURSE.room }) }).then(COURSE.report).catch(() => {}), 250);
  };
  return {
    ask: (question) => {
      const answer = send({ question: JSON.stringify(question) });
      if (COURSE) answer.then(tellCourse, () => {});
      return answer;
    },
    busy: () => waiting.size > 0,
    look: (question) => send({ question: JSON.stringify(question), look: true }),
  };
})();

const direct = (() => {
  const listening = new Map(); // token of a piece -> what to do with its view
  return {
    ready: (token) => listening.has(token),
    listen: (token, listener) => listening.set(token, listener),
    opened: () => {}, // it is there from the start
    leave: (token) => listening.delete(token),
    send: (token, state) => {
      if (!listening.has(token)) return false;
      desk.look({ piece: token, state }).then(({ view, ahead }) => view && listening.get(token)?.(view, ahead)).catch(() => {});
      return true;
    },
  };
})();

// What this browser needs and does not have, or why Python did not start.
function tellFailure(place, error) {
  const box = Object.assign(document.createElement("div"), { className: "il-banner il-fail banner fail" });
  box.setAttribute("role", "alert");
  const lead = Object.assign(document.createElement("strong"), { textContent: "This page could not start. " });
  box.append(lead, `${error.message}. Load it again; if that does not help, use a current Chrome, Edge, Firefox or Safari. What you committed is kept.`);
  place.prepend(box);
}

// A page as Python has it now, in place of what was there before.
function replacePage({ html, error }) {
  if (error) return tellFailure(document.querySelector("main"), new Error(error));
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of ["header", "main"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
  return undefined;
}

// Everything the site has goes into the browser's cache once a page stands: from then on every page opens offline.
async function keepOffline() {
  if (document.documentElement.dataset.course !== undefined) return; // a course system closes, and has its own rules about its files
  try {
    await navigator.serviceWorker?.register(new URL(`${ROOT}sw.js`, location.href));
  } catch {
    // not over a secure connection, or forbidden: the site works, only not offline
  }
}

if (document.documentElement.dataset.course !== undefined && !COURSE) {
  const apart = Object.assign(document.createElement("div"), { className: "il-banner banner", role: "status" });
  apart.append("This page was opened apart from your course. What you do here is not reported there, and is kept in a ledger of its own; open it from the course instead.");
  document.body.prepend(apart);
}

// The host has a newer version, and this browser has it by now. An open page goes on with its own files, which stay until it is closed.
const NEWER = "This site was updated. This page goes on as it is; load it again for the new version. Everything you committed and saved stays.";
if (navigator.serviceWorker?.controller) {
  navigator.serviceWorker.addEventListener("controllerchange", () => document.dispatchEvent(new CustomEvent("ironlaw:newer", { detail: NEWER })), { once: true });
}

// Asked for when something was committed: a browser that is short of room then spares it.
function askToKeep() {
  navigator.storage?.persist?.().catch(() => {});
}

async function download(what) {
  const { name, text, error } = await desk.ask({ do: what });
  if (error) return tellFailure(document.querySelector("main") ?? document.body, new Error(error));
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  return setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
document.addEventListener("click", (event) => {
  const [, what] = event.target.closest?.("a[href]")?.getAttribute("href").match(/\/(export|damaged|certificate\.json)$/) ?? [];
  if (!what) return;
  event.preventDefault();
  download(what);
});
