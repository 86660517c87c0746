// Every file of the site, kept by the browser: any page opens offline, also one that was never visited.

const VERSION = "{{ version }}";
const FILES = {{ files }};
const CACHE = `ironlaw ${registration.scope} ${VERSION}`;

addEventListener("install", (event) => {
  const fetched = async () => {
    const cache = await caches.open(CACHE);
    await cache.addAll(FILES);
    await skipWaiting();
  };
  event.waitUntil(fetched());
});

addEventListener("activate", (event) => {
  const older = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name.startsWith(`ironlaw ${registration.scope} `) && name !== CACHE).map((name) => caches.delete(name)));
    await clients.claim();
  };
  event.waitUntil(older());
});

// Pages from the network where there is one, so that a newer site is seen at once; all that has its version in its address from the cache.
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  const address = request.url.split(/[?#]/)[0].replace(/\/index\.html$/, "/"); // a page is listed by its folder
  const stored = async () => {
    const cache = await caches.open(CACHE);
    return (await cache.match(address)) ?? cache.match(`${address}/`);
  };
  const answer = async () => {
    if (request.mode !== "navigate") return (await stored()) ?? fetch(request);
    try {
      return await fetch(request);
    } catch (error) {
      const page = await stored();
      if (page) return page;
      throw error;
    }
  };
  event.respondWith(answer());
});
