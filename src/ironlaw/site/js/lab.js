// A lab of the site: Python in the worker answers.

const app = document.getElementById("App");
try {
  const style = await fetch(new URL("./piece.css", import.meta.url)).then((answer) => answer.text());
  const open = labPage({ ask: (act) => desk.ask({ do: "act", ...act }), tell: tellFailure, acted: askToKeep, style });
  open(await desk.ask({ do: "open", lab: app.dataset.lab }));
  keepOffline();
} catch (error) {
  tellFailure(app, error);
}
