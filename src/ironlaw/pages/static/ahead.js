// Once the start page is drawn and the browser idle: fetch what every lab's page is made of, so that a lab opens from the cache.
// The page does not need this; without it the first lab takes a second longer.

const { assets, files } = document.currentScript.dataset;

function fetchAhead() {
  const links = files.split(" ").map((name) => Object.assign(document.createElement("link"), { rel: "prefetch", href: `${assets}/${name}` }));
  document.head.append(...links);
}

addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(fetchAhead));
