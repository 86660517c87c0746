// The start page: drawn without Python first, for someone who has done nothing yet; then as the ledger in this browser has it.

const picture = document.getElementById("roofline");
drawFromFile(picture);
const draw = (answer) => {
  replacePage(answer);
  document.getElementById("roofline")?.replaceWith(picture); // as the visitor has left it
  document.querySelector(".error, .said")?.scrollIntoView({ block: "center" });
};

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const what = form.getAttribute("action").split("/").pop();
  const question = { do: what };
  if (what === "name") question.name = form.elements.name.value;
  if (what === "import") question.text = (await form.elements.file.files[0]?.text()) ?? "";
  try {
    draw(await desk.ask(question));
    askToKeep();
  } catch (error) {
    tellFailure(document.querySelector("main"), error);
  }
});

desk.ask({ do: "start" }).then((answer) => {
  draw(answer);
  keepOffline();
}, (error) => tellFailure(document.querySelector("main"), error));
