// Wires it together: a dial changes the state, the state asks the engine, the answer is drawn in the next frame.

import { asker } from "./ask.js";
import { drawBars, spoken, termsTable } from "./bars.js";
import { blame, find, makeDials, standIn, syncDials } from "./dials.js";
import { $, show, text } from "./dom.js";
import { drawFormula } from "./formula.js";
import { drawBanner, drawCards } from "./readouts.js";
import { drawRoofline } from "./roofline.js";
import { defaults, fromAddress, query, toAddress } from "./state.js";
import { drawFigures, drawOps, roofTable } from "./tables.js";
import { plain, TERM } from "./units.js";

const registry = JSON.parse($("registry").textContent);
const state = fromAddress(registry);
let latest = null;
let frame = 0;
let hearing = 0;
let later = 0;
let room = $("roofline").clientWidth; // asked once and on a resize: asking while drawing would lay the page out twice

const ask = asker(
  (prediction, search) => {
    latest = prediction;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => draw(prediction, search));
  },
  (message, field) => {
    const placed = blame(field, message);
    if (!latest) text($("verdict"), "Nothing to draw yet");
    text($("basis"), latest ? "Drawn from the last settings that worked." : "");
    text($("problem"), placed ? "" : message);
    show($("problem"), !placed);
    $("bench").classList.add("stale");
    $("bench").setAttribute("aria-busy", "false");
  },
  () => {
    $("bench").setAttribute("aria-busy", "true");
    $("bench").classList.add("stale");
    text($("basis"), "Predicting. A model with thousands of operators takes a few seconds.");
  },
);

function turned(key, value) {
  state[key] = value;
  if (key === "workload") fit();
  if (key === "hardware" || key === "workload") supported();
  if (key === "dtype") delete state.instead;
  refresh();
}

// A new workload keeps the sizes that it can take.
function fit() {
  const usual = defaults(registry, state);
  const most = find(registry, state).workload?.most_tokens ?? Infinity;
  for (const key of ["seq", "context", "phase"]) {
    if (state[key] === undefined || !(key in usual) || Number(state[key]) >= most) state[key] = usual[key];
  }
}

// A machine that lacks the precision gets the nearest one that it has, and the page says so.
function supported() {
  const { machine } = find(registry, state);
  if (!machine) return;
  const wanted = state.instead ?? state.dtype;
  state.dtype = standIn(machine, wanted);
  if (state.dtype === wanted) delete state.instead;
  else state.instead = wanted;
}

function refresh() {
  syncDials(registry, state);
  const search = query(registry, state);
  toAddress(search);
  ask(search);
}

function draw(p, search) {
  const began = performance.now();
  blame("", "");
  show($("problem"), false);
  $("bench").classList.remove("stale", "empty");
  text($("verdict"), `${TERM[p.bound].name[0].toUpperCase()}${TERM[p.bound].name.slice(1)} binds`);
  $("verdict").className = p.bound;
  text($("basis"), `${plain(p.terms[p.bound], "s")} of ${plain(p.seconds, "s")}. ${p.calibrated ? "From curves measured on this machine." : "A bound from the datasheet’s figures: a real run takes longer."}`);
  drawBanner(p, turned);
  drawBars(p, room);
  drawRoofline(p, room);
  drawCards(p);
  drawFormula(p);
  clearTimeout(later);
  later = setTimeout(below, 30);
  clearTimeout(hearing);
  hearing = setTimeout(() => text($("news"), `${spoken(p)}${p.memory.fits ? "" : " It does not fit into memory."}`), 600);
  $("bench").setAttribute("aria-busy", "false");
  // for tests and benchmarks: which settings are on screen, and what drawing them took
  $("bench").dataset.shown = search;
  $("bench").dataset.ms = (performance.now() - began).toFixed(1);
}

// What lies below the pictures follows when a dial rests; the pictures' tables are made only while they are open.
function below() {
  if (!latest) return;
  drawOps(latest);
  drawFigures(latest);
  for (const [id, table] of [["terms-table", termsTable], ["roof-table", roofTable]]) {
    if ($(id).open) $(id).querySelector(".scroll").replaceChildren(table(latest));
  }
}

for (const id of ["terms-table", "roof-table"]) $(id).addEventListener("toggle", below);
makeDials(registry, state, turned);
if (!new URLSearchParams(location.search).has("dtype")) supported();
refresh();

new ResizeObserver(([entry]) => {
  if (Math.abs(entry.contentRect.width - room) < 1) return;
  room = entry.contentRect.width;
  if (latest) drawRoofline(latest, room);
}).observe($("roofline"));
