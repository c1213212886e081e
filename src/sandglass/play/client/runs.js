// Runs: asked of the server, and their panels drawn in the place of those before.
"use strict";

const PAGE = [...crypto.getRandomValues(new Uint8Array(12))]
  .map((byte) => byte.toString(16).padStart(2, "0"))
  .join("");

/** Asks the server; gives its answer, or throws with what it says against it. */
async function asked(what, message, signal = undefined) {
  const answer = await fetch(what, {
    method: "POST",
    headers: {"content-type": "application/json"},
    body: JSON.stringify({page: PAGE, side: "a", settings: [], ...message}),
    signal,
  });
  if (answer.ok) return answer;
  const said = await answer.text();
  throw new Error(answer.status === 422 ? JSON.parse(said).refused : said);
}

/** The lines of an answer: a kind, and what is told. */
async function* linesOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const [end, ...rest] = value.split("\n");
    parts.push(end);
    for (const next of rest) {
      const line = parts.join("");
      const gap = line.indexOf(" ");
      yield {kind: line.slice(0, gap), told: JSON.parse(line.slice(gap + 1))};
      parts = [next];
    }
  }
}

/** Has the panels show runs, which have names and what the server told of each. */
async function drawRuns(found) {
  const texts = found.flatMap(({result}) => result.texts);
  const intervals = found.map(({result}) => result.interval ?? 0);
  const content = {
    runs: found.map(({name, result}) => ({...result.run, name})),
    streams: found.flatMap(({result}, run) => result.streams.map((stream) => ({...stream, run}))),
    interval: Math.max(...intervals) || null,
    colours: opened.colours,
  };
  const choices = choosable();
  const colouring = runs.length > 1 ? state.colourBy : "run";
  const [from, to, whole] = [state.from, state.to, state.whole];
  take(content, (/** @type {number} */ number) => texts[number]);
  const now = panels();
  const alike =
    all.length === now.length &&
    now.every(({id, style, kinds}, n) => {
      const old = all[n];
      return old.id === id && old.style === style && `${old.kinds}` === `${kinds}`;
    }) &&
    choices.split("\n").length === choosable().split("\n").length;
  if (alike) {
    begin();
    now.forEach((panel, n) => {
      Object.assign(all[n], panel, {loaded: false});
      listed(all[n]);
    });
    if (choices !== choosable()) choose();
    relook();
  } else {
    watcher.disconnect();
    near.clear();
    dirty.clear();
    const logarithmic = new Set(all.filter(({log}) => log).map(({id}) => id));
    byId("panels").replaceChildren();
    forget();
    assemble();
    setLogarithmic(
      all.filter(({id}) => logarithmic.has(id)),
      true,
    );
  }
  if (found.length > 1) colourBy(colouring);
  if (whole && (from > 0 || to < whole) && from < state.whole) show(from, Math.min(to, state.whole));
  await Promise.all([...near].map(ready));
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
}

/** Gives colours to the two sides, which is what one compares, or to flows. */
function colourBy(what) {
  state.colourBy = what;
  byId("colour-by").value = what;
  relook();
}

/** What there is to choose from: runs, flows by their names, links. */
function choosable() {
  const flows = runs.flatMap(({flows}, run) => flows.map(({id}) => `${run} ${flowName(run, id)}`));
  const ways = links().map(({link, direction}) => `${link} ${direction}`);
  return [runs.length, ...runs.map(({name}) => name), ...flows, ...ways].join("\n");
}

/** Builds the choices anew. */
function choose() {
  forget();
  controls();
}

function forget() {
  byId("controls").replaceChildren();
  swatches.length = 0;
  state.runsOff.clear();
  state.wayOff.clear();
  state.flowsOff.clear();
  state.flowsOff.add(0);
}
