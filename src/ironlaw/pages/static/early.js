// Opens the lab's socket before any other script is there, so that the server runs the lab while the browser still reads them. What comes
// meanwhile is kept for served.js. A socket that was there and is gone means that the server may be: lab.js looks.

(() => {
  const address = new URL(`${location.pathname}ws`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  const messages = [];
  socket.onmessage = ({ data }) => messages.push(data);
  socket.onclose = ({ code }) => code === 4000 || document.dispatchEvent(new Event("ironlaw:lost")); // 4000: refused, and the page says why
  window.ironlawLine = { socket, messages };
})();
