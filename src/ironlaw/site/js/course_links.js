// A course system serves files, not folders: a link to a folder of the site leads to the page in it.

const ROOT_OF_SITE = new URL(document.documentElement.dataset.root, location.href).href;
for (const kind of ["pointerdown", "keydown", "click"]) {
  document.addEventListener(kind, (event) => {
    const link = event.composedPath().find((part) => part instanceof HTMLAnchorElement && part.href);
    if (link?.href.startsWith(ROOT_OF_SITE) && link.pathname.endsWith("/")) link.pathname += "index.html";
  }, true);
}
