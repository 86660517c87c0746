// Python in a worker: from an image of its memory, which an earlier visit left in the browser's cache, or else from the start.

import { pack, unpack, unzipped } from "./packed.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const HOME = "/home/pyodide";
const CODE = new URL("./ironlaw.pack", import.meta.url);
const RUNTIME = new URL("./pyodide/", import.meta.url).href;
const IMAGE = new URL("./image", import.meta.url).href; // the version is in the address
const FILES = new URL("./files", import.meta.url).href;
const IMAGES = "ironlaw images";
const BEGIN = `
import sys
sys.path.insert(0, "${HOME}")
from ironlaw.site.desk import Desk, new_learner
`;
// A host that does not know what .wasm is, as course systems, sends it as something else, and then no browser compiles it while it comes in.
const WASM = "application/wasm";
for (const [whole, streaming] of [["compile", "compileStreaming"], ["instantiate", "instantiateStreaming"]]) {
  const stream = WebAssembly[streaming];
  if (!stream) continue;
  WebAssembly[streaming] = async (source, ...rest) => {
    const answer = await source;
    if (answer.headers.get("content-type")?.startsWith(WASM)) return stream.call(WebAssembly, answer, ...rest);
    return WebAssembly[whole](await answer.arrayBuffer(), ...rest);
  };
}
const AGAIN = "import random; random.seed()"; // each page draws its own figures

async function fromStart(options) {
  const code = fetch(CODE).then((answer) => answer.arrayBuffer()).then(unzipped);
  const python = await loadPyodide({ indexURL: RUNTIME, ...options });
  unpack(python.FS, HOME, await code);
  python.runPython(BEGIN);
  return python;
}

async function fromImage() {
  const cache = await caches.open(IMAGES);
  const [image, files] = await Promise.all([cache.match(IMAGE), cache.match(FILES)]);
  if (!image || !files) return null;
  const [memory, packed] = await Promise.all([image.arrayBuffer(), files.arrayBuffer()]);
  const python = await inRoom(memory.byteLength, () => loadPyodide({ indexURL: RUNTIME, _loadSnapshot: memory }));
  unpack(python.FS, HOME, packed);
  python.runPython(AGAIN);
  return python;
}

// Pyodide copies an image into the memory that its program begins with, which is smaller: it gets as much as the image takes.
async function inRoom(bytes, load) {
  const plain = { instantiate: WebAssembly.instantiate, instantiateStreaming: WebAssembly.instantiateStreaming };
  for (const [name, make] of Object.entries(plain)) {
    WebAssembly[name] = async (...given) => {
      const made = await make.apply(WebAssembly, given);
      const { memory } = (made.instance ?? made).exports;
      const lacking = memory ? bytes - memory.buffer.byteLength : 0;
      if (lacking > 0) memory.grow(Math.ceil(lacking / 65536));
      return made;
    };
  }
  try {
    return await load();
  } finally {
    Object.assign(WebAssembly, plain);
  }
}

export async function startPython() {
  try {
    const python = await fromImage();
    if (python) return { python, imaged: true };
  } catch (error) {
    console.debug(`no image of Python's memory (${error?.message ?? error}); it starts from the start`);
    await globalThis.caches?.delete(IMAGES).catch(() => {});
  }
  return { python: await fromStart({}), imaged: false };
}

// For the next visit; `warm` is what Python should have done already by then.
export async function keepImage(warm) {
  const python = await fromStart({ _makeSnapshot: true });
  python.runPython(warm);
  const files = pack(python.FS, HOME); // before the image: a list of names would be in it
  const image = python.makeMemorySnapshot();
  await caches.delete(IMAGES); // of an earlier version
  const cache = await caches.open(IMAGES);
  await cache.put(FILES, new Response(files));
  await cache.put(IMAGE, new Response(image));
}
