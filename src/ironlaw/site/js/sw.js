// Every file of the site, kept by the browser: any page opens offline, also one that was never visited.
//
// What a page runs has its version in its address, so a page never gets another version's. An open page may outlive its version on the host:
// its files stay in the cache of that version until the page is closed.

const VERSION = "{{ version }}";
const FILES = {{ files }};
const OURS = `ironlaw ${registration.scope} `;
const CACHE = `${OURS}${VERSION}`;
const EARLIER = `${registration.scope}earlier`; // in our cache: the caches of earlier versions, and the pages that may still need them
const VERSIONED = /(?:assets-|static\/|theme\/)[0-9a-f]{12}\//g;
const foldersIn = (text) => text.match(VERSIONED) ?? [];

// Past the browser's own cache, which may hold pages of an earlier version. Any file that is missing or of another version, since the host is
// being updated, fails the whole: the earlier worker and its cache stay, and the next visit tries again.
addEventListener("install", (event) => {
  const fetched = async () => {
    const earlier = (await caches.keys()).filter((name) => name.startsWith(OURS) && name !== CACHE);
    const cache = await caches.open(CACHE);
    await cache.addAll(FILES.map((name) => new Request(name, { cache: "reload" })));
    const folders = new Set(FILES.flatMap(foldersIn));
    for (const name of FILES.filter((each) => each.endsWith("/"))) {
      const page = await (await cache.match(name)).text();
      if (foldersIn(page).some((folder) => !folders.has(folder))) throw new Error(`${name} is of another version than sw.js`);
    }
    await note({ caches: earlier });
    await skipWaiting();
  };
  event.waitUntil(fetched());
});

// Whatever is open now may be of an earlier version; what is opened from now on is not.
addEventListener("activate", (event) => {
  const begun = async () => {
    await note({ ...(await noted()), pages: await openPages() });
    await clients.claim();
  };
  event.waitUntil(begun());
});

const note = async (earlier) => (await caches.open(CACHE)).put(EARLIER, new Response(JSON.stringify(earlier)));
const noted = async () => (await (await caches.open(CACHE)).match(EARLIER))?.json();
const openPages = async () => {
  const all = await clients.matchAll({ includeUncontrolled: true }); // of the whole host
  return all.filter(({ url }) => url.startsWith(registration.scope)).map(({ id }) => id);
};

// The caches of earlier versions go once every page is closed that was open then. Not while another version is being installed: where a host
// goes back, it is one of these again.
async function forgetEarlier() {
  const { caches: names, pages } = (await noted()) ?? {};
  if (!names || !pages || registration.installing || registration.waiting) return;
  const open = await openPages();
  if (pages.some((id) => open.includes(id))) return;
  await Promise.all(names.map((name) => caches.delete(name)));
  await (await caches.open(CACHE)).delete(EARLIER);
}

// What has its version in its address comes from whichever cache has it. Pages, and what else has a fixed address, come from the host where it
// can be reached, so that a newer site is seen at once.
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  const isPage = request.mode === "navigate";
  const address = request.url.split(/[?#]/)[0].replace(/\/index\.html$/, "/"); // a page is listed by its folder
  const versioned = async () => (await caches.match(address)) ?? fetch(request);
  const kept = async () => {
    const cache = await caches.open(CACHE);
    const answer = (await cache.match(address)) ?? (await cache.match(`${address}/`));
    return answer ?? (isPage ? undefined : caches.match(address)); // what only an earlier page can be asking for
  };
  const current = async () => {
    try {
      const answer = await fetch(request.url, { cache: "no-cache", redirect: request.redirect });
      return answer.ok || isPage ? answer : (await kept()) ?? answer;
    } catch (error) {
      const answer = await kept();
      if (answer) return answer;
      throw error;
    }
  };
  if (isPage) event.waitUntil(forgetEarlier());
  event.respondWith(address.slice(registration.scope.length).search(VERSIONED) === 0 ? versioned() : current());
});
