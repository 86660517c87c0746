// One request at a time, and only for the newest settings: what is passed over while one is on its way is never sent.

const PATIENCE = 250; // ms after which a request that has been overtaken is given up

export function asker(draw, fail, wait) {
  let running = null;
  let wanted = null;

  async function next() {
    const search = wanted;
    wanted = null;
    const controller = new AbortController();
    running = { controller, since: performance.now() };
    const slow = setTimeout(wait, PATIENCE);
    try {
      const response = await fetch(`/api/predict?${search}`, { signal: controller.signal });
      const body = await response.json();
      if (response.ok) draw(body, search);
      else fail(body.error ?? `the server answered ${response.status}`, body.field ?? "");
    } catch (error) {
      if (error.name !== "AbortError") fail("The server does not answer. Start it again with: ironlaw labs", "");
    } finally {
      clearTimeout(slow);
      running = null;
      if (wanted !== null) next();
    }
  }

  return (search) => {
    wanted = String(search);
    if (running === null) next();
    else if (performance.now() - running.since > PATIENCE) running.controller.abort();
  };
}
