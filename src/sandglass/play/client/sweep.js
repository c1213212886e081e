// One knob over its steps: a run for each, in the background, while nothing else runs.
"use strict";

const MOST_STEPS = 9;
const KINDS_SWEPT = ["pfifo", "codel", "fq_codel", "pie", "cake"];
const POLL = 50; // ms between two looks whether a turn is still under way

const sweep = {
  /** Counts up whenever another one begins, or none is wanted any more. */
  turn: 0,
  knob: /** @type {Knob | null} */ (null),
  /** What the other knobs stood at. */
  others: /** @type {Values} */ ({}),
  /** What each step came to, by its name: rows of numbers, or why it does not run. */
  found: /** @type {Map<string, any>} */ (new Map()),
};

const canBeSwept = ({form, steps}) => steps.length > 1 || form === "queue" || form === "choice";

/** The steps of a knob: what each is called, and the value that it is. */
function stepsOf(/** @type {Knob} */ knob, now) {
  if (knob.form === "queue") {
    return KINDS_SWEPT.map((kind) => [kind, kind === now.kind ? now : ofKind(knob, kind, now)]);
  }
  const all = knob.form === "choice" ? knob.choices.slice(0, 4) : knob.steps;
  const every = Math.max(1, (all.length - 1) / (MOST_STEPS - 1));
  const places = Array.from({length: Math.min(all.length, MOST_STEPS)}, (_, n) =>
    Math.round(n * every),
  );
  return places.map((place) => [setting(all[place]), all[place]]);
}

/** Has the choices of a sweep name what is open. */
function offerSweep() {
  stopSweep();
  sweep.knob = null;
  sweep.found.clear();
  const choices = opened.knobs.filter(canBeSwept);
  byId("sweep-knob").replaceChildren(
    ...choices.map(({key, name, group}) =>
      make("option", {value: key}, group === "More" ? name : `${name}, ${group}`),
    ),
  );
  byId("sweep-table").replaceChildren();
  byId("sweep-command").textContent = "";
  byId("sweep-status").textContent = "";
}

function stopSweep() {
  sweep.turn++;
  under.c?.abort();
  byId("sweep-stop").hidden = true;
  byId("sweep-go").hidden = false;
}

/** Runs each step of the chosen knob, the others being where they are. */
async function fillSweep() {
  stopSweep();
  const mine = sweep.turn;
  const key = byId("sweep-knob").value;
  const knob = opened.knobs.find((each) => each.key === key);
  const {[key]: now = knob.value, ...others} = structuredClone(at.values);
  const steps = stepsOf(knob, now);
  Object.assign(sweep, {knob, others});
  sweep.found.clear();
  byId("sweep-stop").hidden = false;
  byId("sweep-go").hidden = true;
  byId("sweep-command").textContent = studyOf(knob, steps, others);
  for (const [name, value] of steps) {
    const values = same(value, knob.value) ? others : {...others, [key]: value};
    let told;
    while (told === undefined) {
      while (under.a || under.b) await new Promise((later) => setTimeout(later, POLL));
      if (mine !== sweep.turn) return;
      byId("sweep-status").textContent = `${sweep.found.size} of ${steps.length} runs; next ${name}`;
      told = await oneStep(values);
      if (mine !== sweep.turn) return;
    }
    sweep.found.set(name, told);
    showSweep();
  }
  byId("sweep-status").textContent = `${steps.length} runs`;
  stopSweep();
}

/** What a run comes to, or why there is none; undefined where a turn came before it. */
async function oneStep(values) {
  const mine = (under.c = new AbortController());
  const message = {file: at.name, side: "c", settings: settings(opened.knobs, values)};
  try {
    for await (const {kind, told} of linesOf(await asked("run", message, mine.signal))) {
      if (kind === "done") return told.numbers;
      if (kind === "refused") return told;
    }
  } catch (error) {
    if (!mine.signal.aborted) return error.message;
  } finally {
    if (under.c === mine) under.c = null;
  }
  return undefined;
}

/** The command that does the same as a study, where one knob is one key. */
function studyOf(/** @type {Knob} */ {key, form, also}, steps, others) {
  if (form === "queue" || form === "choice" || also.length) return "";
  const [before, after] = byId("command").textContent.split(" run ");
  const sets = settings(opened.knobs, others).map((text) => ` --set '${text}'`);
  const file = after.split(" --set ")[0];
  return `${before} study ${file}${sets.join("")} --vary ${key}=${steps.map(([name]) => name)}`;
}

/** Shows what there is so far of the number that is chosen, each step by a bar. */
function showSweep() {
  const rows = [...sweep.found];
  const names = [
    ...new Set(rows.flatMap(([, told]) => (Array.isArray(told) ? told.map(([name]) => name) : []))),
  ];
  const choice = byId("sweep-number");
  const chosen = names.includes(choice.value) ? choice.value : names[0];
  if (names.join() !== [...choice.options].map(({value}) => value).join()) {
    choice.replaceChildren(...names.map((name) => make("option", {value: name}, name)));
  }
  if (chosen) choice.value = chosen;
  const of = (/** @type {any} */ told) =>
    Array.isArray(told) ? told.find(([name]) => name === chosen) : undefined;
  const most = Math.max(...rows.map(([, told]) => of(told)?.[2] ?? 0)) || 1;
  byId("sweep-table").replaceChildren(
    make(
      "tbody",
      {},
      ...rows.map(([name, told]) => {
        const [, unit, value] = of(told) ?? [];
        const bar = make("div", {class: "bar"});
        bar.style.width = `${(100 * (value ?? 0)) / most}%`;
        const said = value === undefined ? (Array.isArray(told) ? "–" : told) : short(value);
        return make(
          "tr",
          {},
          make("th", {scope: "row"}, name),
          make("td", {}, value === undefined || !unit ? said : `${said} ${unit}`),
          make("td", {class: "bars"}, bar),
        );
      }),
    ),
  );
}
