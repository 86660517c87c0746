// The page of the glossary: a field that finds a word, and on a narrow screen one group open at a time. Without this script every group is open.

(() => {
  const narrow = matchMedia("(max-width: 50rem)");
  const groups = [...document.querySelectorAll("details.group")];
  const terms = [...document.querySelectorAll(".terms > div")];
  const field = document.getElementById("find");
  const count = document.getElementById("count");
  const target = () => document.getElementById(decodeURIComponent(location.hash.slice(1))); // null without one

  // Several groups of one name are open one at a time: the browser sees to it.
  function fold() {
    const alone = narrow.matches && !field.value.trim();
    const shown = target()?.closest("details.group");
    for (const group of groups) {
      group.removeAttribute("name");
      group.open = !alone || group === shown;
      if (alone) group.setAttribute("name", "group");
    }
  }

  function find() {
    const words = field.value.trim().toLowerCase();
    const hits = terms.filter((term) => term.querySelector("dt").textContent.toLowerCase().includes(words));
    const named = new Set(hits.length ? hits : terms.filter((term) => term.textContent.toLowerCase().includes(words)));
    for (const term of terms) term.hidden = !named.has(term);
    for (const group of groups) group.hidden = !group.querySelector(".terms > div:not([hidden])");
    count.textContent = words ? (named.size ? `${named.size} of ${terms.length}` : "No entry matches.") : "";
    fold();
  }

  field.closest("form").hidden = false;
  field.closest("form").addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", find);
  narrow.addEventListener("change", fold);
  document.querySelector(".groups").addEventListener("click", (event) => {
    const group = event.target.closest("a") && document.getElementById(event.target.closest("a").hash.slice(1));
    if (group) group.open = true;
  });
  find();
  target()?.scrollIntoView();
})();
