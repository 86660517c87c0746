// The learner's events in IndexedDB. A write has reached the disk when its promise is kept: durability "strict".

const NAME = "ironlaw";
const LOCK = "ironlaw-ledger";
const ASIDE = "aside"; // before when, the key of a ledger that was damaged

const kept = (request) => new Promise((done, fail) => {
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});

export async function openStore() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("events"); // key: its place in the ledger, from 1
    request.result.createObjectStore("about");
  };
  const database = await kept(request);
  const read = (store, ask) => kept(ask(database.transaction(store).objectStore(store)));
  const write = (stores, put) => new Promise((done, fail) => {
    const change = database.transaction(stores, "readwrite", { durability: "strict" });
    change.oncomplete = () => done();
    change.onabort = () => fail(change.error ?? new Error("the browser broke it off"));
    put(...stores.map((store) => change.objectStore(store)));
  });
  const append = (events, rows, count) => rows.forEach((row, i) => events.add(row, count + i + 1));
  return {
    owner: () => read("about", (about) => about.get("owner")),
    own: (owner) => write(["about"], (about) => about.add(owner, "owner")),
    after: (count) => read("events", (events) => events.getAll(IDBKeyRange.lowerBound(count, true))),
    // a place that is taken breaks the whole write off: no window overwrites what another has written
    add: (rows, count) => write(["events"], (events) => append(events, rows, count)),
    // the place of the last event: how many there were
    last: async () => (await read("events", (events) => events.openKeyCursor(null, "prev")))?.key ?? 0,
    // a damaged ledger is kept whole, and a new one takes its place: both or neither
    replace: (damaged, owner, rows) => write(["about", "events"], (about, events) => {
      about.add(damaged, `${ASIDE} ${new Date().toISOString()}`);
      about.put(owner, "owner");
      events.clear();
      append(events, rows, 0);
    }),
    aside: async () => (await read("about", (about) => about.getAll(IDBKeyRange.bound(ASIDE, `${ASIDE}\uffff`)))).at(-1),
  };
}

// One window at a time, over all windows of the site.
export const inTurn = (act) => (navigator.locks ? navigator.locks.request(LOCK, act) : act());
