// What is open, what it stands at, and what is done when that changes.
"use strict";

const PATIENCE = 3000; // ms without a sign of the lab before it is said what that means
const PAUSE = 120; // ms that a knob rests before a run that is under way is given up for another

/** What the server says of the file that is open. */
let opened = /** @type {any} */ (null);
/** The knobs' controls, by their keys. */
let controlled = new Map();
/** Where the page is: the word for the file, and what differs from it. */
const at = {
  name: "",
  values: /** @type {Values} */ ({}),
  beside: /** @type {Values | null} */ (null),
};
/** What was run last of each side, and the values that it was run with. */
const last = /** @type {{a: any, b: any}} */ ({a: null, b: null});
const under = /** @type {Record<string, AbortController | null>} */ ({
  ...{a: null, b: null},
  c: null, // of a sweep, which makes way for the others
});
/** Milliseconds from each turn to its curves, for those who measure. */
const latencies = /** @type {number[]} */ ([]);
let waiting = 0;
let turnedAt = 0;
/** How often the page has gone somewhere. */
let going = 0;

const list = () => settings(opened.knobs, at.values);

/** Turns a knob: to a value, or undefined for what the file has. */
function turn(key, value) {
  const knob = opened.knobs.find((each) => each.key === key);
  if (value === undefined || same(value, knob.value)) delete at.values[key];
  else at.values[key] = value;
  turnedAt = performance.now();
  stands();
  history.replaceState(null, "", fragment(at));
  clearTimeout(waiting);
  if (under.a) waiting = setTimeout(() => run("a"), PAUSE);
  else run("a");
}

/** Has all controls say what they stand at. */
function stands() {
  for (const [key, {knob, made, element}] of controlled) {
    made.show(at.values[key] ?? knob.value);
    element.classList.toggle("turned", key in at.values);
  }
  byId("reset").hidden = !Object.keys(at.values).length;
}

/** Runs what a side stands at, in the place of what it was running. */
async function run(side) {
  under[side]?.abort();
  under.c?.abort();
  const mine = (under[side] = new AbortController());
  const values = structuredClone(side === "a" ? at.values : (at.beside ?? {}));
  const begun = turnedAt;
  const message = {file: at.name, side, settings: settings(opened.knobs, values)};
  const slow = setTimeout(() => {
    byId("status").textContent = "Waiting for a free processor: other labs are at work.";
  }, PATIENCE);
  byId("progress").hidden = false;
  byId("progress").value = 0;
  byId("panels").setAttribute("aria-busy", "true");
  try {
    const answer = await asked("run", message, mine.signal);
    for await (const {kind, told} of linesOf(answer)) {
      if (mine.signal.aborted) return;
      if (kind === "told" && side === "a") tell(told);
      if (kind === "progress") clearTimeout(slow);
      if (kind === "progress" && side === "a") progress(told);
      if (kind === "refused") throw new Error(told);
      if (kind === "done") {
        last[side] = {values, result: told, title: byId("title").textContent};
        if (side === "a") refuse(null);
        await redraw();
        if (side === "a") arrived(told, begun);
      }
    }
  } catch (error) {
    if (!mine.signal.aborted) refuse(error.message);
  } finally {
    clearTimeout(slow);
    if (under[side] === mine) under[side] = null;
    if (!under.a && !under.b) {
      byId("progress").hidden = true;
      byId("panels").removeAttribute("aria-busy");
    }
  }
}

/** Shows what is known before the lab has run. */
function tell({title, picture, warnings, command}) {
  byId("picture").textContent = picture.join("\n");
  byId("picture").setAttribute("aria-label", `The network: ${picture.join("; ")}`);
  byId("command").textContent = command;
  byId("doubts").replaceChildren(...warnings.map((text) => make("p", {class: "warning"}, text)));
  document.title = `${title} | Sandglass`;
}

function progress([now, whole]) {
  byId("progress").value = whole ? now / whole : 0;
}

/** Says why it does not run; null: it does. The curves that stay are of the run before. */
function refuse(message) {
  byId("refused").hidden = message === null;
  byId("refused").textContent = message ?? "";
  byId("panels").classList.toggle("old", message !== null);
  byId("numbers").classList.toggle("old", message !== null);
  if (message !== null) byId("status").textContent = last.a ? "Below is the run before." : "";
}

/** Says that a run is there, and what it has no record of. */
function arrived({run: {duration}, wall_s, digest, kernel, missing}, begun) {
  byId("unrecorded").hidden = !Object.keys(missing).length;
  byId("unrecorded").textContent =
    `The file's record leaves out ${Object.keys(missing).join(", ")}, so their panels are not here.`;
  const took = performance.now() - begun;
  latencies.push(took);
  if (latencies.length > 1000) latencies.shift();
  byId("digest").textContent = digest;
  const all_s = Object.values(wall_s).reduce((sum, each) => sum + each, 0);
  byId("status").replaceChildren(
    `${duration / 1e9} s of Linux ${kernel} in ${all_s.toFixed(2)} s, digest `,
    make("code", {}, digest.slice(0, 16)),
  );
}

/** Draws what there is of both sides. */
async function redraw() {
  const sides = at.beside ? [last.a, last.b] : [last.a];
  const found = sides.filter(Boolean);
  if (!found.length) return;
  const names = found.map((each, n) => {
    const other = found[1 - n];
    if (!other) return n ? "B" : "A";
    const words = difference(opened.knobs, each.values, other.values);
    return `${n ? "B" : "A"}${words && `: ${words}`}`;
  });
  tabulateNumbers(found, names);
  for (const [id, on] of [
    ["keep", !at.beside],
    ["swap", at.beside],
    ["drop", at.beside],
  ])
    byId(id).hidden = !on;
  await drawRuns(found.map(({result}, n) => ({name: "AB"[n], result})));
}

/** A number with three digits, or all of a whole one. */
const short = (/** @type {number} */ value) =>
  grouped(Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3))));

/** The numbers of one run, or of two beside each other. */
function tabulateNumbers(found, names) {
  const rows = new Map();
  found.forEach(({result}, n) => {
    for (const [name, unit, value] of result.numbers) {
      if (!rows.has(name)) rows.set(name, {unit, cells: found.map(() => "–")});
      rows.get(name).cells[n] = short(value);
    }
    const digest = rows.get("digest") ?? {unit: "", cells: found.map(() => "–")};
    digest.cells[n] = result.digest.slice(0, 12);
    if (found.length > 1) rows.set("digest", digest);
  });
  const head = make(
    "tr",
    {},
    make("td", {}),
    ...(found.length > 1 ? names.map((name) => make("th", {scope: "col"}, name)) : []),
  );
  byId("numbers").replaceChildren(
    ...(found.length > 1 ? [make("thead", {}, head)] : []),
    make(
      "tbody",
      {},
      ...[...rows].map(([name, {unit, cells}]) =>
        make(
          "tr",
          {},
          make("th", {scope: "row"}, name),
          ...cells.map((cell) =>
            make("td", {}, cell === "–" || !unit ? cell : `${cell} ${unit}`),
          ),
        ),
      ),
    ),
  );
}

/** Builds the knobs, those of `first` before all others. */
function buildKnobs(first) {
  controlled = new Map();
  const groups = new Map();
  const place = (/** @type {Knob} */ {key}) => (first.includes(key) ? first.indexOf(key) : Infinity);
  for (const knob of opened.knobs.toSorted((one, other) => place(one) - place(other) || 0)) {
    const group = first.includes(knob.key) ? "Turn this" : knob.group;
    const made = control(knob, (value) => turn(knob.key, value));
    controlled.set(knob.key, {knob, made, element: made.element});
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(made.element);
  }
  const order = [...groups.keys()].sort((one, other) => weight(one) - weight(other));
  const built = order.map((group) =>
    group === "More"
      ? make("details", {}, make("summary", {}, "More"), ...groups.get(group))
      : make("fieldset", {}, make("legend", {}, group), ...groups.get(group)),
  );
  byId("knobs").replaceChildren(...built);
}

const weight = (/** @type {string} */ group) => ({"Turn this": -1, More: 1})[group] ?? 0;

/** Goes where the address says: the gallery, or an experiment as it is there. */
async function go() {
  const mine = ++going;
  const wanted = stateOf(location.hash);
  byId("trouble").hidden = true;
  for (const side of ["a", "b"]) under[side]?.abort();
  if (!wanted) {
    gallery();
    return;
  }
  const anew = !opened || wanted.name !== at.name;
  if (anew) {
    let found;
    try {
      found = await (await asked("open", {file: wanted.name})).json();
    } catch (error) {
      if (mine !== going) return;
      byId("trouble").textContent = error.message;
      byId("trouble").hidden = false;
      gallery();
      return;
    }
    if (mine !== going) return; // somebody has gone elsewhere meanwhile
    opened = found;
  }
  const known = new Set(opened.knobs.map(({key}) => key));
  const taken = (values) =>
    values && Object.fromEntries(Object.entries(values).filter(([key]) => known.has(key)));
  Object.assign(at, {
    name: wanted.name,
    values: taken(wanted.values),
    beside: taken(wanted.beside),
  });
  const card = [.../** @type {any} */ (document.querySelectorAll(".card"))].find(
    ({dataset}) => dataset.name === at.name,
  );
  byId("title").textContent = opened.title;
  byId("file").textContent = opened.name;
  byId("hint").textContent = card?.querySelector("p").textContent ?? "";
  byId("hint").hidden = !card;
  byId("lead").hidden = byId("gallery").hidden = true;
  byId("where").hidden = byId("stage").hidden = false;
  if (anew) {
    last.a = last.b = null;
    offerSweep();
    buildKnobs(card ? JSON.parse(card.dataset.turn) : []);
    byId("numbers").replaceChildren();
    byId("status").textContent = "";
    scrollTo(0, 0);
  }
  refuse(null);
  stands();
  turnedAt = performance.now();
  const runs = [run("a")];
  if (at.beside) runs.push(run("b"));
  await Promise.all(runs);
}

function gallery() {
  if (opened) stopSweep();
  opened = null;
  at.name = "";
  byId("title").textContent = "Play";
  document.title = "Sandglass: play";
  byId("lead").hidden = byId("gallery").hidden = false;
  byId("where").hidden = byId("stage").hidden = true;
}

async function save() {
  try {
    const answer = await asked("write", {file: at.name, settings: list()});
    const {yaml} = await answer.json();
    const address = URL.createObjectURL(new Blob([yaml], {type: "application/yaml"}));
    make("a", {href: address, download: `${at.name}.yaml`}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  } catch (error) {
    refuse(error.message);
  }
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    byId("status").textContent = `The ${what} is copied.`;
  } catch {
    byId("status").textContent = `This browser does not let a page copy: ${text}`;
  }
}

const ACTS = {
  keep: () => {
    at.beside = structuredClone(at.values);
    last.b = last.a;
    return redraw();
  },
  swap: () => {
    [at.values, at.beside] = [at.beside ?? {}, at.values];
    [last.a, last.b] = [last.b, last.a];
    stands();
    if (!last.a) return run("a");
    refuse(null);
    arrived(last.a.result, performance.now());
    return redraw();
  },
  drop: () => {
    at.beside = last.b = null;
    return redraw();
  },
  reset: () => {
    at.values = {};
    turnedAt = performance.now();
    stands();
    return run("a");
  },
  save,
  copy: () => copy(location.href, "link"),
  "copy-command": () => copy(byId("command").textContent, "command"),
};

start();
for (const [id, act] of Object.entries(ACTS)) {
  byId(id).addEventListener("click", async () => {
    await act();
    if (opened) history.replaceState(null, "", fragment(at));
  });
}
byId("sweep-go").addEventListener("click", fillSweep);
byId("sweep-stop").addEventListener("click", () => {
  stopSweep();
  byId("sweep-status").textContent += ", stopped";
});
byId("sweep-number").addEventListener("change", showSweep);
byId("knobs").addEventListener("submit", (event) => event.preventDefault());
byId("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", go);
const {file} = byId("stage").dataset;
if (file && !location.hash) history.replaceState(null, "", `#open=${file}`);
go();
