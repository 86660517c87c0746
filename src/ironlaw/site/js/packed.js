// A folder's files as one: a list of names and sizes, then what is in them. So ironlaw comes from the host, gzipped as a whole, and so it is
// kept beside an image of Python's memory, which has no files in it.

// A host may have taken the gzip away already: some send a file that is packed as one that is packed on the way.
export async function unzipped(data) {
  const [first, second] = new Uint8Array(data, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return data;
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

export function pack(FS, root) {
  const names = [];
  const walk = (folder) => {
    for (const name of FS.readdir(`${root}/${folder}`)) {
      if (name === "." || name === "..") continue;
      const path = `${folder}${name}`;
      if (FS.isDir(FS.stat(`${root}/${path}`).mode)) walk(`${path}/`);
      else names.push(path);
    }
  };
  walk("");
  const contents = names.map((name) => FS.readFile(`${root}/${name}`));
  const head = new TextEncoder().encode(JSON.stringify(names.map((name, i) => [name, contents[i].length])));
  return new Blob([new Uint32Array([head.length]), head, ...contents]);
}

export function unpack(FS, root, packed) {
  const [length] = new Uint32Array(packed, 0, 1);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(packed, 4, length)));
  let at = 4 + length;
  const folders = new Set();
  for (const [name, size] of head) {
    const folder = `${root}/${name.slice(0, Math.max(0, name.lastIndexOf("/")))}`;
    if (!folders.has(folder)) FS.mkdirTree(folder);
    folders.add(folder);
    FS.writeFile(`${root}/${name}`, new Uint8Array(packed, at, size));
    at += size;
  }
}
