// Opens the kernel's socket before marimo's scripts are there, so that the server runs the lab while the browser still reads them. marimo
// gets this socket when it asks for one, and hears everything that has come since.

(() => {
  const UNUSED = 60000; // ms: a socket that nobody has asked for by then is closed
  const SESSION = "session_id";
  const Plain = window.WebSocket;
  const letters = (bytes) => [...bytes].map((byte) => (byte % 36).toString(36)).join("");
  const session = `s_${letters(crypto.getRandomValues(new Uint8Array(6)))}`; // as marimo would name it
  const address = new URL(`${location.pathname}ws${location.search}`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.searchParams.set(SESSION, session);

  let waiting = new Plain(address.href);
  const events = [];
  const keep = (event) => {
    events.push(event);
    event.stopImmediatePropagation();
  };
  const KINDS = ["open", "message", "error", "close"];
  for (const kind of KINDS) waiting.addEventListener(kind, keep);
  setTimeout(() => waiting?.close(), UNUSED);

  // The listeners are there once whoever has asked is done.
  function hand(socket) {
    waiting = null;
    setTimeout(() => {
      for (const kind of KINDS) socket.removeEventListener(kind, keep);
      for (const event of events) socket.dispatchEvent(new event.constructor(event.type, event));
    });
    return socket;
  }

  const ours = (where) => {
    const url = new URL(where, location.href);
    if (url.pathname !== address.pathname) return where;
    url.searchParams.set(SESSION, session);
    return url.href;
  };
  window.WebSocket = class extends Plain {
    constructor(where, ...rest) {
      const url = ours(where);
      if (waiting && url !== where) return hand(waiting);
      super(url, ...rest);
    }
  };

  // marimo names its session in each request by a name of its own
  const call = window.fetch;
  window.fetch = (...request) => {
    const url = String(request[0]?.url ?? request[0]);
    if (!url.includes("/api/kernel/")) return call(...request);
    const named = new Request(...request);
    named.headers.set("Marimo-Session-Id", session);
    return call(named);
  };
})();
