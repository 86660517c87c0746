// At an address of no page: the site is in one of the folders above, the one with its list of files.
addEventListener("DOMContentLoaded", async () => {
  let folder = new URL("./", location.href);
  const isSite = () => fetch(new URL("{{ mark }}", folder), { method: "HEAD" }).then((answer) => answer.ok, () => false);
  while (folder.pathname !== "/" && !(await isSite())) folder = new URL("../", folder);
  for (const link of document.querySelectorAll("[data-to]")) link.href = new URL(link.dataset.to ? `${link.dataset.to}/` : "./", folder);
});
