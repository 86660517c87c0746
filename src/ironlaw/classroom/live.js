// Asks every two seconds whether there is something new, and shows it where the reader has scrolled to.
"use strict";
const main = document.getElementById("live");
const state = document.getElementById("state");
let version = 0;
const ask = async () => {
  try {
    const response = await fetch(`/live.json?version=${version}`);
    if (!response.ok) throw new Error(`${response.status}`);
    const news = await response.json();
    if (news.html !== null) {
      main.innerHTML = news.html; // text of ours, in which everything from a file is escaped
      version = news.version;
    }
    state.textContent = `Up to date at ${new Date().toLocaleTimeString()}`;
  } catch {
    state.textContent = "The server does not answer. What stands here is from before.";
  }
  setTimeout(ask, 2000);
};
ask();
