// Every piece whose traits are in the page, where the page has a place for it.

for (const data of document.querySelectorAll("script[data-piece]")) {
  render({ model: hosted(JSON.parse(data.textContent)), el: document.getElementById(data.dataset.piece) });
}

for (const place of document.querySelectorAll("[data-traits]")) drawFromFile(place);
