// The page that a course system (an LMS) opens: it holds the session of SCORM, and the labs are in a frame in it, where they may go from page to
// page. The course system is told how far the learner is, never whether they were right. Nothing here waits for it: a lab goes on without.

const DATA = JSON.parse(document.getElementById("course").textContent);
const STAGES = ["not started", "in Act I", "in Act II", "done"];
const BEAT = 5000; // ms between two reports
const SLOW = 1500; // ms that a report may take before the next ones wait longer
const PATIENT = 1000; // ms that a course system has to offer its functions
// what the two versions call the same thing
const NAMES = {
  1.2: { api: "API", begin: "LMSInitialize", end: "LMSFinish", get: "LMSGetValue", set: "LMSSetValue", commit: "LMSCommit", code: "LMSGetLastError", words: "LMSGetErrorString",
    learner: "cmi.core.student_id", status: "cmi.core.lesson_status", place: "cmi.core.lesson_location", exit: "cmi.core.exit", time: "cmi.core.session_time", copy: "cmi.suspend_data", room: 4096 },
  2004: { api: "API_1484_11", begin: "Initialize", end: "Terminate", get: "GetValue", set: "SetValue", commit: "Commit", code: "GetLastError", words: "GetErrorString",
    learner: "cmi.learner_id", status: "cmi.completion_status", place: "cmi.location", exit: "cmi.exit", time: "cmi.session_time", copy: "cmi.suspend_data", room: 64000, measure: "cmi.progress_measure" },
};
const names = NAMES[DATA.version];
const began = Date.now();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// --- the course system

function find() {
  const upwards = (from) => {
    for (let at = from, steps = 0; at && steps < 500; steps += 1) {
      try {
        if (at[names.api]) return at[names.api];
      } catch {
        // a page of another host: nobody can look into it, but its own parent may be ours
      }
      if (at.parent === at) return null;
      at = at.parent;
    }
    return null;
  };
  return upwards(window.parent === window ? null : window.parent) ?? upwards(window.opener) ?? upwards(window.top?.opener);
}

let api = null;
let refusal = ""; // why the last call was not taken
function call(name, ...given) {
  refusal = "";
  try {
    const answer = api[names[name]](...given);
    const code = String(api[names.code]() ?? "0");
    const taken = name === "get" ? code === "0" || code === "403" : String(answer) === "true"; // 403: no value yet
    if (!taken) refusal = `error ${code}: ${api[names.words](code) || "it gives no reason"}`;
    return taken ? String(answer ?? "") : "";
  } catch (error) {
    refusal = String(error?.message ?? error);
    return "";
  }
}

const clock = (ms) => {
  const seconds = Math.round(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n) => String(n).padStart(2, "0");
  return DATA.version === "1.2" ? `${String(h).padStart(4, "0")}:${two(m)}:${two(s)}` : `PT${h}H${m}M${s}S`;
};

// --- what is known, and what of it the course system has taken

const course = { state: "looking", taken: new Map(), values: new Map(), wait: BEAT, timer: 0, problem: "", finished: false };
let progress = null; // as the labs told it last
let saved = 0; // events in the file that was downloaded last
let before = null; // what an earlier session left in the course system

const stage = (slug) => progress?.labs[slug] ?? 0;
const done = (lab) => stage(lab.slug) >= lab.stage;
const finished = () => DATA.labs.filter(done).length;
const measure = () => DATA.labs.reduce((sum, lab) => sum + Math.min(stage(lab.slug) / lab.stage, 1), 0) / DATA.labs.length;

function values() {
  const status = course.finished || finished() === DATA.labs.length ? "completed" : "incomplete"; // never back: done stays done
  course.finished = status === "completed";
  const told = new Map([[names.status, status], [names.exit, "suspend"]]);
  if (names.measure) told.set(names.measure, String(Math.round(1000 * (course.finished ? 1 : measure())) / 1000));
  if (!progress || progress.trouble) return told;
  if (progress.lab) told.set(names.place, progress.lab);
  told.set(names.copy, JSON.stringify({ events: progress.events, labs: progress.labs, copy: progress.copy }));
  return told;
}

function send() {
  clearTimeout(course.timer);
  course.timer = 0;
  if (course.state !== "open") return;
  const start = performance.now();
  course.problem = "";
  const accepted = [];
  for (const [name, value] of values()) {
    if (course.taken.get(name) === value) continue;
    if (call("set", name, value)) accepted.push([name, value]);
    else if (name !== names.measure && name !== names.place) course.problem = refusal;
  }
  if (accepted.length && !call("commit", "")) course.problem = refusal;
  if (!course.problem) for (const [name, value] of accepted) course.taken.set(name, value);
  const took = performance.now() - start;
  const doubled = Math.min(2 * course.wait, 60000);
  course.wait = course.problem ? doubled : took > SLOW ? Math.min(20 * took, 600000) : BEAT; // it holds up the page, so it must be rare
  if (course.problem) course.timer = setTimeout(send, course.wait);
  draw();
}

function soon() {
  if (course.state === "open" && !course.timer) course.timer = setTimeout(send, course.wait);
  draw();
}

function end() {
  if (course.state !== "open") return;
  send();
  call("set", names.time, clock(Date.now() - began));
  call("set", names.exit, "suspend");
  call("commit", "");
  call("end", "");
  clearTimeout(course.timer);
  course.state = "ended";
}

// --- the line above the labs

const part = (id) => document.getElementById(id);
function strange() {
  try {
    return window.top.location.origin !== location.origin;
  } catch {
    return true;
  }
}
const APART = strange(); // in a frame of another host, a browser keeps what is stored apart, and may clear it

function reported() {
  if (course.state === "looking") return "Looking for your course…";
  if (course.state === "absent") return "No course system answers, so nothing is reported. The labs work, and your work is stored in this browser; hand in the file.";
  if (course.state === "ended") return "This session was closed. Open the labs from your course again.";
  if (course.problem) return `Your course system has not taken your progress (${course.problem}). Your work is stored here, and this page keeps trying.`;
  const slow = course.wait > BEAT ? " Your course system is slow, so it is told less often." : "";
  const [only] = DATA.labs;
  if (course.finished) return `Done, and reported to your course as completed.${slow}`;
  const words = DATA.labs.length === 1 ? `${only.name} is ${STAGES[stage(only.slug)]}` : `${finished()} of ${DATA.labs.length} labs done`;
  return `${words}; your course is told how far you are, not what you answered.${slow}`;
}

const kept = () => Boolean(progress?.copy) && course.state === "open" && !course.problem;
const unsafe = () => Boolean(progress?.events > saved) && !kept() && (APART || course.state === "open");
function storage() {
  if (progress?.trouble) return `Nothing can be stored here: ${progress.trouble}. Open the labs in a window of their own.`;
  const lost = before?.events && !before.copy && progress && progress.events < before.events;
  if (lost) return "Your course knows of work that this browser does not have. Import the file that you saved, on the start page, or go on in the browser you used.";
  if (!progress?.events) return "";
  if (kept()) return APART ? "Your browser keeps this work for this course page alone; your course holds a copy." : "";
  if (APART) return "Your browser keeps this work for this course page alone and may clear it, and your course has no copy. Download your file before you leave.";
  return course.state === "open" ? "Your work is in this browser only: your course has no room for a copy. Download your file before you leave." : "";
}

function draw() {
  const text = (id, words) => {
    if (part(id).textContent !== words) part(id).textContent = words;
    part(id).hidden = !words;
  };
  text("reported", reported());
  text("storage", storage());
  part("storage").classList.toggle("urgent", unsafe() || Boolean(progress?.trouble));
  part("hand-in").disabled = !progress?.export;
  part("hand-in").classList.toggle("urgent", unsafe());
  part("window").hidden = !APART && !progress?.trouble;
  for (const lab of DATA.labs) {
    const state = document.querySelector(`[data-lab="${lab.slug}"] span`);
    if (state) state.textContent = done(lab) ? "done" : STAGES[stage(lab.slug)];
  }
}

part("hand-in").addEventListener("click", () => {
  const { name, text } = progress.export;
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  saved = progress.events;
  draw();
});
const closeList = () => document.querySelector("details")?.removeAttribute("open"); // it would cover the lab
for (const link of document.querySelectorAll("details a")) link.addEventListener("click", closeList);
part("window").addEventListener("click", () => window.open(part("labs").src, "_blank"));
window.addEventListener("beforeunload", (event) => {
  if (unsafe()) event.preventDefault(); // the browser asks whether to leave
});
window.addEventListener("pagehide", end);
window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
document.addEventListener("visibilitychange", () => document.hidden && course.state === "open" && course.wait === BEAT && send());

// --- begin

function parsed(text) {
  try {
    const data = JSON.parse(text);
    return typeof data?.events === "number" ? data : null;
  } catch {
    return null; // nothing yet, or not ours
  }
}

async function begin() {
  for (let waited = 0; !(api = find()) && waited < PATIENT; waited += 100) await pause(100);
  let place = "";
  let whose = "";
  if (!api) course.state = "absent";
  else if (!call("begin", "") && !/^error (101|103)/.test(refusal)) { // those: somebody has begun it already
    course.state = "open";
    course.problem = refusal;
    course.timer = setTimeout(again, course.wait);
  } else course.state = "open";
  if (course.state === "open") {
    whose = call("get", names.learner);
    before = parsed(call("get", names.copy));
    place = call("get", names.place);
    course.finished = ["completed", "passed"].includes(call("get", names.status));
  }
  const room = names.room - 40 - JSON.stringify(DATA.labs.map((lab) => lab.slug)).length - 600; // for how far each lab is
  window.ironlawCourse = { whose, copy: before?.copy ?? "", room, report: (told) => { progress = told; soon(); } };
  const first = DATA.labs.find((lab) => lab.slug === place) ?? (DATA.labs.length === 1 ? DATA.labs[0] : null);
  part("labs").src = first ? `lab/${first.slug}/index.html` : "index.html";
  if (first) closeList();
  if (!course.problem) send();
  draw();
}

// The session could not be begun: try again, with longer and longer pauses.
function again() {
  if (call("begin", "") || /^error (101|103)/.test(refusal)) {
    course.wait = BEAT;
    send();
    return;
  }
  course.problem = refusal;
  course.wait = Math.min(2 * course.wait, 60000);
  course.timer = setTimeout(again, course.wait);
  draw();
}

begin();
