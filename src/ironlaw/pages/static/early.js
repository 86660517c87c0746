// Opens the lab's socket before any other script is there, so that the server runs the lab while the browser still reads them. What comes
// meanwhile is kept for served.js. A socket that was there and is gone means that the server may be: lab.js looks.

(() => {
  const address = new URL(`${location.pathname}ws`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  const messages = [];
  let refused = false; // then the page says why. A proxy may drop the code with which the socket was closed, so the message counts
  socket.addEventListener("message", ({ data }) => {
    refused ||= data.startsWith('{"refused"');
    if (data.startsWith('{"asleep"')) document.dispatchEvent(new Event("ironlaw:asleep"));
  });
  socket.onmessage = ({ data }) => messages.push(data);
  socket.onclose = () => refused || document.dispatchEvent(new Event("ironlaw:lost"));
  window.ironlawLine = { socket, messages };
})();
