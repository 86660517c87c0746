// The short way to Python while a dial is being turned: a socket of its own, past the lab's. What it carries is only
// looked at; when the dials rest, the state goes the ordinary way and counts. Where there is no such server everything goes that way.

const AGAIN = 2000; // ms until a lost socket is opened again
const AWAKE = ["pointerdown", "keydown"];

const direct = (() => {
  const listening = new Map(); // token of a piece -> what to do with a view, and with the dials of one that was asked for ahead
  const openings = []; // what to do whenever the socket is there, again too
  let socket = null;
  let worked = false;
  const open = () => {
    if (socket || !listening.size) return;
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${new URL(fromRoot("/direct"), location.href).pathname}`);
    socket.onopen = () => {
      worked = true;
      for (const opened of openings) opened();
    };
    socket.onmessage = (event) => {
      const { piece, view, ahead, asleep } = JSON.parse(event.data);
      if (asleep) sleep();
      listening.get(piece)?.(view, ahead);
    };
    socket.onclose = () => {
      socket = null;
      if (worked) setTimeout(open, AGAIN); // one that never opened is not there
    };
  };
  // the server ends, since nobody did anything: it is asked for again when somebody does
  const sleep = () => {
    worked = false;
    const wake = () => {
      for (const kind of AWAKE) removeEventListener(kind, wake);
      worked = true;
      open();
    };
    for (const kind of AWAKE) addEventListener(kind, wake);
  };
  const ready = (token) => listening.has(token) && socket?.readyState === WebSocket.OPEN;
  return {
    ready,
    listen: (token, listener) => {
      listening.set(token, listener);
      if (worked || listening.size === 1) open();
    },
    opened: (does) => openings.push(does),
    leave: (token) => listening.delete(token),
    send: (token, state) => {
      if (!ready(token)) return false;
      socket.send(JSON.stringify({ piece: token, state }));
      return true;
    },
  };
})();
