// A lab of the labs' server, which answers over the socket that early.js has opened. Without one, what is pressed is kept (pending.js), and
// the page is loaded anew as soon as there is a server again (lab.js).

function tellFailure(place, error) {
  const box = Object.assign(document.createElement("div"), { className: "il-banner il-fail" });
  box.setAttribute("role", "alert");
  box.append(Object.assign(document.createElement("strong"), { textContent: "That did not work. " }), error.message);
  place.prepend(box);
}

function serveLab({ socket, messages }) {
  const waiting = []; // answers come in the order of what was asked
  const ask = (act) => new Promise((done) => {
    if (socket.readyState !== WebSocket.OPEN) return; // lab.js tells that the server is gone
    waiting.push(done);
    socket.send(JSON.stringify(act));
  });
  const open = labPage({ ask, tell: tellFailure, style: STYLE });
  let opened = false;
  const hear = (text) => {
    const answer = JSON.parse(text);
    if (answer.asleep) return undefined; // lab.js says so
    if (opened) return waiting.shift()?.(answer);
    opened = !answer.error;
    return open(answer);
  };
  messages.forEach(hear);
  socket.onmessage = ({ data }) => hear(data);
}

serveLab(window.ironlawLine);
