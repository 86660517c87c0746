"""A ledger as the site's own store.js keeps it in a browser, written without starting Python there."""

import json
from collections.abc import Callable

from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.site.desk import new_learner

# takes what `stored` gives
FILL = """([owner, rows]) => new Promise((done, fail) => {
  const request = indexedDB.open("ironlaw", 1);
  request.onupgradeneeded = () => ["events", "about"].forEach((name) => request.result.createObjectStore(name));
  request.onsuccess = () => {
    const change = request.result.transaction(["events", "about"], "readwrite");
    change.objectStore("about").put(owner, "owner");
    rows.forEach((row, i) => change.objectStore("events").put(row, i + 1));
    change.oncomplete = () => { request.result.close(); done(); };
    change.onabort = () => fail(change.error);
  };
})"""

# what the browser holds, without Python: from a page of the site that starts none
STORED = """() => new Promise((done) => {
  const request = indexedDB.open("ironlaw");
  request.onsuccess = () => {
    const all = request.result.transaction("events").objectStore("events").getAll();
    all.onsuccess = () => done(all.result.map((row) => row[5]));
  };
})"""


def stored(write: Callable[[Ledger], object]) -> tuple[str, list[tuple]]:
    """Whose ledger it is, and its rows once that was written into it."""
    owner = new_learner()
    about = json.loads(owner)
    store = MemoryStore(about["learner"], about["since"])
    write(Ledger(store, about["learner"]))
    return owner, store.rows
