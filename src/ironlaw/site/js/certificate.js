// The certificate of the ledger in this browser, as soon as Python is there.

desk.ask({ do: "certificate" }).then((answer) => {
  replacePage(answer);
  keepOffline();
}, (error) => tellFailure(document.querySelector("main"), error));
