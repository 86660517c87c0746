// The learner's events in IndexedDB. A write has reached the disk when its promise is kept: durability "strict".

// On a host that many share, such as a course system, each of its learners has a ledger of their own, named for them.
const NAME = (whose) => (whose ? `ironlaw of ${whose}` : "ironlaw");
const LOCK = (whose) => (whose ? `ironlaw-ledger of ${whose}` : "ironlaw-ledger");
const ASIDE = "aside"; // before when, the key of a ledger that was damaged

const OUTDATED = "a newer version of this site is open in another window; load this page again";

const kept = (request) => new Promise((done, fail) => {
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});

function openDatabase(whose) {
  const request = indexedDB.open(NAME(whose), 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("events"); // key: its place in the ledger, from 1
    request.result.createObjectStore("about");
  };
  return kept(request).then((database) => {
    database.onversionchange = () => database.close(); // a newer version in another window waits for this
    return database;
  }, (error) => {
    throw error?.name === "VersionError" ? new Error(OUTDATED) : error;
  });
}

export async function openStore(whose) {
  let database = await openDatabase(whose);
  // a browser closes it when the disk is full, and we make way for a newer version: then it is opened again, if it is still ours
  const begin = async (...how) => {
    try {
      return database.transaction(...how);
    } catch (error) {
      if (error.name !== "InvalidStateError") throw error;
      database = await openDatabase(whose);
      return database.transaction(...how);
    }
  };
  const read = async (store, ask) => kept(ask((await begin(store)).objectStore(store)));
  const write = (stores, put) => begin(stores, "readwrite", { durability: "strict" }).then((change) => new Promise((done, fail) => {
    change.oncomplete = () => done();
    change.onabort = () => fail(change.error ?? new Error("the browser broke it off"));
    put(...stores.map((store) => change.objectStore(store)));
  }));
  // how many there are and the hash of the last: in the same write, so that a missing end shows
  const append = (events, about, rows, count) => {
    rows.forEach((row, i) => events.add(row, count + i + 1));
    about.put(JSON.stringify({ events: count + rows.length, hash: rows.at(-1).at(-1) }), "head");
  };
  return {
    owner: () => read("about", (about) => about.get("owner")),
    own: (owner) => write(["about"], (about) => about.add(owner, "owner")),
    after: (count) => read("events", (events) => events.getAll(IDBKeyRange.lowerBound(count, true))),
    // a place that is taken breaks the whole write off: no window overwrites what another has written
    add: (rows, count) => write(["events", "about"], (events, about) => append(events, about, rows, count)),
    head: () => read("about", (about) => about.get("head")),
    // the place of the last event: how many there were
    last: async () => (await read("events", (events) => events.openKeyCursor(null, "prev")))?.key ?? 0,
    // a damaged ledger is kept whole, and a new one takes its place: both or neither
    replace: (damaged, owner, rows) => write(["about", "events"], (about, events) => {
      about.add(damaged, `${ASIDE} ${new Date().toISOString()}`);
      about.put(owner, "owner");
      events.clear();
      append(events, about, rows, 0);
    }),
    aside: async () => (await read("about", (about) => about.getAll(IDBKeyRange.bound(ASIDE, `${ASIDE}\uffff`)))).at(-1),
  };
}

// One window at a time, over all windows of the site.
export const inTurn = (whose, act) => (navigator.locks ? navigator.locks.request(LOCK(whose), act) : act());
