// Time as a dial: play, pause, one step back or on; the slider over them is the scrubber. Where motion is not wanted, a few still frames
// follow each other.

const FRAME = 50; // ms between two frames
const STILL = 900; // ms that a still frame stays
const STILLS = 10; // still frames of a whole run

const playing = (dial, ui) => ui.local[`playing:${dial.id}`];
const pause = (dial, ui) => {
  clearTimeout(playing(dial, ui)?.timer);
  ui.local[`playing:${dial.id}`] = null;
};

// `last`: the number of the last step; `at()`: where the dial stands; `show(i)` turns it there.
function playView(dial, { ui, redraw }, last, at, show) {
  const play = (node) => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = at() === last ? 0 : at();
    const [wait, share] = still ? [STILL, 1 / STILLS] : [FRAME, FRAME / 1000 / dial.play];
    const run = { shown: at(), began: performance.now() };
    ui.local[`playing:${dial.id}`] = run;
    const frame = () => {
      if (playing(dial, ui) !== run || !node.isConnected) return; // paused, or gone from the page
      const frames = Math.round((performance.now() - run.began) / wait);
      const next = Math.min(last, from + Math.floor(frames * share * last));
      if (next !== run.shown) show((run.shown = next));
      if (next === last) pause(dial, ui);
      else run.timer = setTimeout(frame, wait);
      redraw();
    };
    frame();
  };
  const step = (way) => () => {
    pause(dial, ui);
    show(at() + way);
  };
  const toggle = (event) => {
    if (!playing(dial, ui)) return play(event.currentTarget);
    pause(dial, ui);
    redraw();
  };
  const on = Boolean(playing(dial, ui));
  const button = (name, words, onclick, disabled = false) => h("button", { type: "button", class: "il-preset", "aria-label": `${dial.label}: ${name}`, onclick, disabled }, words);
  return h("div", { key: "play", class: "il-presets il-play", role: "group", "aria-label": `${dial.label}: play` },
    button("one step back", "‹", step(-1), at() === 0), button(on ? "pause" : "play", on ? "Pause" : "Play", toggle), button("one step on", "›", step(1), at() === last));
}
