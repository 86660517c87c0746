// A moving picture with what moves it: play and pause, one event back or on, a scrubber, a speed. It works only while it plays and is in
// view. What happens is told in words, too: the event of the moment under the picture, all of them in a list. Where less motion is asked
// for, and on paper, there is a strip of stills instead.

const SPEEDS = [[0.25, "¼×"], [0.5, "½×"], [1, "1×"], [2, "2×"], [4, "4×"]];
const READ = 90; // ms: figures that change more often can't be read
const STOPS = 200; // of the scrubber
const ONE_COLUMN = 480; // px: under this stills stand under each other
const players = new WeakMap();
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

const motionView = (motion, ui) => h("section", { key: `motion:${motion.id}`, class: "il-motion", "aria-label": motion.title, html: "", after: (node) => {
  if (!players.has(node)) players.set(node, makePlayer(node, ui));
  players.get(node).load(motion);
} });

function makePlayer(root, ui) {
  const id = unique("motion");
  const run = { motion: null, t: 0, speed: 1, playing: false, seen: false, width: 0, frame: 0, last: 0, told: 0 };
  let show = () => {};
  const parts = {};
  const still = () => stillness.matches || run.paper;

  // the picture, the scrubber and the counters; the words only when it rests, so that nobody is talked over
  const draw = (now = Infinity) => {
    const { motion, t, playing } = run;
    const counts = now - run.told > READ;
    show(t, counts);
    if (!parts.scrub || !counts) return;
    run.told = Number.isFinite(now) ? now : 0;
    parts.scrub.value = Math.round((STOPS * t) / motion.end);
    for (const [node, counter] of parts.counters) node.textContent = counterText(["", ...counter.slice(1)], t);
    parts.clock.textContent = timeText(t, motion);
    const [at, said] = eventAt(motion, t);
    const when = isTold(motion, t) ? "" : `${timeText(at, motion)} `; // figures in it are of that moment, and the counters have gone on
    if (parts.now.textContent !== when + said) patch(parts.now, [when && h("span", { class: "il-quiet" }, when), said]);
    if (!playing) parts.scrub.setAttribute("aria-valuetext", `${timeText(t, motion)}${when && `. At ${when.trim()}`}: ${said}`);
  };
  const tick = (now) => {
    run.frame = 0;
    if (!run.playing || !run.seen) return;
    const { end, seconds } = run.motion;
    run.t = Math.min(end, run.t + (((now - run.last) / 1000) * run.speed * end) / seconds);
    run.last = now;
    if (run.t >= end) return pause();
    draw(now);
    run.frame = requestAnimationFrame(tick);
  };
  const go = () => {
    run.last = performance.now();
    run.frame ||= requestAnimationFrame(tick);
  };
  const controls = () => {
    patch(parts.tools, toolsOfPlayer(run, parts, act));
    parts.now.setAttribute("aria-live", run.playing ? "off" : "polite");
  };
  const pause = () => {
    run.playing = false;
    cancelAnimationFrame(run.frame);
    run.frame = 0;
    controls();
    draw();
  };
  const act = {
    toggle: () => {
      if (run.playing) return pause();
      if (run.t >= run.motion.end * (1 - 1e-6)) run.t = 0;
      run.playing = true;
      controls();
      draw();
      return go();
    },
    step: (way) => {
      const { events, end } = run.motion;
      const near = end * 1e-6;
      const times = [0, ...events.map(([at]) => at), end];
      run.t = (way > 0 ? times.find((at) => at > run.t + near) : times.findLast((at) => at < run.t - near)) ?? run.t;
      pause();
    },
    scrub: (share) => {
      run.t = share * run.motion.end;
      pause();
    },
    speed: (speed) => {
      run.speed = speed;
      controls();
    },
  };
  const lay = () => {
    const { motion, width } = run;
    patch(root, frameOf(motion, run, parts, id, still()));
    if (width < 60) return;
    if (still()) {
      run.playing = false;
      show = () => {};
      parts.scrub = null;
      drawStills(parts.stage, motion, width, id);
    } else {
      show = stageScene(parts.stage, motion, width, id, motion.text);
      controls();
      draw();
    }
  };
  const load = (motion) => {
    if (run.motion === motion) return;
    const share = run.motion ? run.t / run.motion.end : motion.begins / motion.end;
    run.motion = motion;
    run.t = share * motion.end;
    lay();
  };
  const sizes = new ResizeObserver(([{ contentRect }]) => {
    const width = Math.floor(contentRect.width);
    if (!width || width === run.width) return;
    run.width = width;
    if (run.motion) lay();
  });
  const sight = new IntersectionObserver((entries) => {
    run.seen = entries.at(-1).isIntersecting;
    if (run.seen && run.playing) go();
  });
  const paper = (on) => () => {
    run.paper = on;
    if (run.motion) lay();
  };
  const ends = [[stillness, "change", lay], [window, "beforeprint", paper(true)], [window, "afterprint", paper(false)]];
  ends.forEach(([target, name, does]) => target.addEventListener(name, does));
  typeface.then(() => run.motion && lay());
  sizes.observe(root);
  sight.observe(root);
  ui.ends?.push(() => {
    run.playing = false;
    cancelAnimationFrame(run.frame);
    sizes.disconnect();
    sight.disconnect();
    ends.forEach(([target, name, does]) => target.removeEventListener(name, does));
  });
  return { load };
}

// Everything but what moves. The stage is the scene's own: nothing here is laid over it.
function frameOf(motion, run, parts, id, still) {
  const counters = (motion.counters ?? []).filter((counter) => counter[5] === null);
  parts.counters = [];
  return h("figure", { class: "il-figure" },
    h("figcaption", {}, h("strong", {}, motion.title), motion.note && h("span", { class: "il-quiet" }, ` ${unbroken(motion.note)}`), motion.caption && rich("p", { class: "il-caption" }, motion.caption)),
    counters.length && !still ? h("dl", { key: "counters", class: "il-counters" }, counters.map((counter, i) => h("div", { key: i, class: `c-${counter[6]}` }, h("dt", {}, counter[0]), h("dd", { html: "", after: (node) => parts.counters.push([node, counter]) })))) : null,
    h("div", { key: still ? "stills" : "stage", class: still ? "il-stills" : "il-stage-box", html: "", after: (node) => { parts.stage = node; } }),
    motion.legend?.length ? legendView(motion.legend) : null,
    still ? null : h("p", { key: "now", class: "il-now", html: "", after: (node) => { parts.now = node; } }),
    still ? null : h("div", { key: "tools", class: "il-player", role: "group", "aria-label": `Play: ${motion.title}`, html: "", after: (node) => { parts.tools = node; } }),
    h("details", { key: "story", class: "il-alternative" }, h("summary", {}, "What happens, step by step"),
      h("ol", { class: "il-story" }, motion.events.map(([at, text], i) => h("li", { key: i }, h("span", { class: "il-quiet" }, `${timeText(at, motion)} `), text)))));
}

function toolsOfPlayer(run, parts, act) {
  const { motion, playing, speed } = run;
  const button = (key, name, words, onclick) => h("button", { key, type: "button", "aria-label": name, onclick }, words);
  const scale = written((speed * motion.end) / motion.seconds, motion.unit);
  return [
    button("play", playing ? "Pause" : "Play", playing ? "Pause" : "Play", act.toggle),
    button("back", "One event back", "‹", () => act.step(-1)), button("on", "One event on", "›", () => act.step(1)),
    h("input", { key: "scrub", type: "range", min: 0, max: STOPS, step: 1, "aria-label": "Time", oninput: (event) => act.scrub(Number(event.target.value) / STOPS), after: (node) => { parts.scrub = node; } }),
    h("output", { key: "clock", class: "il-clock", html: "", after: (node) => { parts.clock = node; } }),
    h("label", { key: "speed", class: "il-speed" }, h("span", { class: "il-hearing" }, "Speed"),
      h("select", { value: speed, onchange: (event) => act.speed(Number(event.target.value)) }, SPEEDS.map(([value, name]) => h("option", { key: value, value }, name)))),
    motion.unit ? h("span", { key: "scale", class: "il-quiet" }, `1${THIN}s here is ${scale}`) : null,
  ];
}

// Whether the event of this very moment says it all, and whether a sentence has a counter's figure already.
const isTold = (motion, t) => Math.abs(eventAt(motion, t)[0] - t) < 1e-6 * motion.end;
const saysFigure = (said, figure) => [" ", ",", ".", ";"].some((after) => ` ${said} `.includes(` ${figure}${after}`));

function drawStills(root, motion, width, id) {
  const columns = width > ONE_COLUMN ? 2 : 1;
  const wide = Math.floor((width - 20 * (columns - 1)) / columns);
  root.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  root.replaceChildren();
  patch(root, motion.stills.map((t, i) => h("div", { key: i, class: "il-still" }, h("p", {}, h("strong", {}, timeText(t, motion)), ` ${eventAt(motion, t)[1]}`,
    (isTold(motion, t) ? [] : (motion.counters ?? []).filter((counter) => counter[5] === null && !saysFigure(eventAt(motion, t)[1], counterText(["", ...counter.slice(1)], t)))).map((counter, k) => h("span", { key: k, class: "il-quiet" }, ` · ${counterText(counter, t)}`))),
    h("div", { html: "", after: (node) => stageScene(node, motion, wide, `${id}-${i}`, eventAt(motion, t)[1])(t) }))));
}
