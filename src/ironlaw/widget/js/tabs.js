// One picture at a time beside the dials: the others are tabs. Small pictures that follow each other share one, and on a phone those that
// have a name for it (`alone`) have a tab each: two under each other leave no room for dials.

const phone = matchMedia("(max-width: 40rem)");
const onPhone = () => phone.matches;
const tabName = (figure) => (onPhone() && figure.alone) || (figure.tab ?? figure.title);

function groupsOf(figures) {
  const groups = [];
  figures.forEach((figure) => {
    const last = groups.at(-1);
    if (figure.width && last?.[0].width === figure.width && tabName(last[0]) === tabName(figure)) last.push(figure);
    else groups.push([figure]);
  });
  return groups;
}

const drawings = new WeakMap(); // figure -> what is drawn of it: a turn may change a picture's title and leave the picture as it is
function drawingOf(figure) {
  if (!drawings.has(figure)) drawings.set(figure, JSON.stringify([figure.marks, figure.x, figure.y]));
  return drawings.get(figure);
}

// A sentence brings the picture that it is about, a dial the one that it names (`shows`), or the first one that it changes where the
// picture in front stays as it is. Once a turn: the tab that the learner chooses after it stays, however late the answers come.
function follow({ spec, line, ui }, groups, front) {
  const before = ui.local.drawn;
  const now = new Map(groups.flat().map((figure) => [figure.id, drawingOf(figure)]));
  if (!line.turns || ui.local.followed === line.turns) {
    ui.local.drawn = now;
    return;
  }
  const shows = line.brings ?? spec.dials?.find((dial) => dial.id === line.touched)?.shows;
  if (shows && !groups.some((group) => group.some((figure) => figure.id === shows))) return; // it may come with the answer
  const changed = groups.filter((group) => group.some((figure) => before?.get(figure.id) !== now.get(figure.id)));
  if (!shows && !changed.length) return; // not answered yet
  ui.local.followed = line.turns;
  ui.local.drawn = now;
  if (shows) ui.local.tab = shows;
  else if (before && groups[front] && !changed.includes(groups[front])) ui.local.tab = changed[0][0].id;
}

// Where a dial will stand if its turn goes on: read and drawn while the page has nothing else to do, so that the turn finds it done.
function drawAhead(figures, ctx) {
  ctx.ui.ahead = true;
  figures.forEach(drawingOf);
  figures.filter((figure) => ctx.ui.front?.includes(figure.id)).forEach((figure, i) => figureView(figure, { ...ctx, apart: true }, i));
  ctx.ui.ahead = false;
}

function tabsView(ctx) {
  const { ui, view } = ctx;
  const groups = groupsOf(view.figures ?? []);
  const front = () => Math.max(0, groups.findIndex((group) => group.some((figure) => figure.id === ui.local.tab)));
  follow(ctx, groups, front());
  const at = front();
  ui.front = groups[at]?.map((figure) => figure.id);
  if (groups.length < 2) return { tabs: null, shown: groups[0] ?? [] };
  const choose = (i) => {
    ui.local.followed = ctx.line.turns;
    ui.local.tab = groups[i][0].id;
    ctx.redraw();
  };
  const keys = (event) => {
    const from = front(); // asked again: a second key may come before the first one is drawn
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: groups.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + groups.length) % groups.length;
    choose(next);
    event.currentTarget.children[next].focus();
  };
  const tabs = h("div", { key: "tabs", class: "il-tabs", role: "tablist", "aria-label": "Pictures", onkeydown: keys }, groups.map(([first], i) =>
    h("button", {
      key: first.id, type: "button", role: "tab", id: `${ui.id}-tab-${first.id}`, "aria-selected": i === at ? "true" : "false", "aria-controls": i === at ? `${ui.id}-panel` : null,
      tabindex: i === at ? 0 : -1, onclick: () => choose(i),
    }, tabName(first))));
  return { tabs, shown: groups[at] };
}

const panelOf = (tabs, shown, ui) => (tabs ? { role: "tabpanel", id: `${ui.id}-panel`, "aria-labelledby": `${ui.id}-tab-${shown[0].id}` } : {});

// The same figures as tables, and what can be taken along: under the instrument, out of its way.
function moreView(shown, after, ctx) {
  const { ui, line } = ctx;
  if (!after && !shown.length) return null;
  if (ui.more && line.state.moving && !ui.fold?.open) return ui.more; // nobody sees it: it follows when the dials rest
  const parts = [noteView(after, "after"), shown.map((figure, i) => [tableView(figure, figure.id ?? `figure-${i}`, ctx), toolsView(figure, ctx)])];
  ui.more = h("details", { key: "more", class: "il-more", after: (node) => { ui.fold = node; } }, h("summary", {}, "The figures as a table"), parts);
  return ui.more;
}
