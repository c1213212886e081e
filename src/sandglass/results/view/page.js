// The page put together: its state, its panels, and who is told when something changes.
"use strict";

const whole = Math.max(...runs.map(({duration}) => duration));
const alike = runs.every(({flows}) => flows.length <= 1);
const state = {
  from: 0, to: whole, whole, cursor: /** @type {number | null} */ (null),
  runsOff: new Set(), flowsOff: new Set([0]), wayOff: new Set(),
  colourBy: runs.length > 1 && alike ? "run" : "flow",
};
const theme = {};
const PALETTE = content.colours;
const BLACK = "#000000";
const all = panels();

/** A new element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The colour and the dashes of a line: of its flow, or where runs are told apart, of its run. */
function look({run, flow, name}) {
  const byRun = state.colourBy === "run";
  const index = byRun ? run : flow === null ? named.names.indexOf(name) : flow - 1;
  const plain = !byRun && flow === null && name === undefined;
  const colour = plain || flow === 0 ? BLACK : PALETTE[Math.max(index, 0) % PALETTE.length];
  const turn = byRun ? 0 : Math.floor(Math.max(index, 0) / PALETTE.length);
  return {colour: colour === BLACK ? theme.ink : colour, dash: DASHES[(run + turn) % DASHES.length]};
}

/** Whether a line is to be seen. */
const visible = ({run, flow}) => !state.runsOff.has(run) && !state.flowsOff.has(flow);

/** What a line is called: its run where there are several, and its flow unless all have but one. */
function named(panel, {run, flow, name}) {
  const parts = runs.length > 1 ? [runs[run].name] : [];
  if (name !== undefined) parts.push(name);
  else if (flow === 0) parts.push("no flow");
  else if (flow !== null && !(alike && parts.length)) parts.push(flowName(run, flow));
  return parts.join(", ") || panel.title.toLowerCase();
}
named.names = [...new Set(streams.map(({name}) => name).filter((name) => name !== undefined))];

function flowName(run, number) {
  const flow = runs[run].flows.find(({id}) => id === number);
  return flow ? `${number}: ${flow.from} → ${flow.to} ${flow.cc ?? flow.workload}` : String(number);
}

/** Builds a panel: heading, canvas with its cursor, readings, table. */
function build(panel) {
  panel.about = make("small", {});
  const title = make("h3", {}, panel.title, " ", panel.about);
  panel.canvas = make("canvas", {role: "img", "aria-label": panel.title});
  panel.canvas.className = panel.style === "shares" ? "shares" : "";
  if (panel.style === "events") {
    const lanes = panel.kinds.length * runs.length;
    panel.canvas.style.height = `${TOP + BOTTOM + lanes * (runs.length > 1 ? 15 : 24)}px`;
  }
  panel.context = panel.canvas.getContext("2d");
  panel.line = make("div", {class: "cursor", hidden: true});
  panel.band = make("div", {class: "band", hidden: true});
  panel.heading = make("p", {class: "heading"}, make("span", {}),
    ...(panel.measures ?? []).map((name) => make("b", {}, name)));
  panel.rows = [];
  panel.nothing = make("p", {class: "nothing", hidden: true}, "none");
  const list = make("ul", {tabindex: "0", "aria-label": `Readings of ${panel.title}`,
    class: panel.measures ? "several" : ""});
  for (const [of, lines] of Map.groupBy(panel.lines, ({run, flow, name, streams: [stream]}) =>
    `${run} ${flow ?? name} ${panel.style === "events" ? "" : stream}`)) {
    list.append(readingsRow(panel, of, lines));
  }
  panel.table = make("table", {});
  panel.details = make("details", {ontoggle: () => tabulate(panel)}, make("summary", {}, "Numbers"),
    make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${panel.title}`}, panel.table));
  panel.element = make("section", {class: `panel ${panel.style}`, id: panel.id, "aria-label": panel.title}, title,
    make("div", {class: "plot"}, panel.canvas, panel.band, panel.line),
    make("div", {class: "readings"}, panel.heading, list, panel.nothing), panel.details);
  panel.pointer = null;
  panel.width = panel.height = 0;
  if (panel.style === "shares") pointAtValues(panel);
  else gestures(panel);
  return panel.element;
}

/** The readings of a flow or run: a value for each of the panel's measures. */
function readingsRow(panel, key, lines) {
  const swatch = make("i", {});
  const outputs = measures(panel).map(() => make("output", {}));
  const row = make("li", {}, swatch, make("span", {title: named(panel, lines[0])}, named(panel, lines[0])), ...outputs);
  row.dataset.flow = lines[0].flow ?? "";
  row.dataset.run = lines[0].run;
  const cells = lines.map((line) => ({line, output: outputs[measures(panel).indexOf(line.measure)]}));
  panel.rows.push({row, swatch, outputs, cells});
  return row;
}

const near = new Set();
const dirty = new Set();
let frameAsked = false;
let settling = 0;
let painted = false;

/** Draws again, in the next frame, all panels that are near the screen; the others when they come. */
function changed() {
  for (const panel of all) dirty.add(panel);
  ask();
  clearTimeout(settling);
  settling = setTimeout(settled, 160);
}

function ask() {
  if (frameAsked) return;
  frameAsked = true;
  requestAnimationFrame(() => {
    frameAsked = false;
    for (const panel of near) if (dirty.has(panel) && panel.loaded) paint(panel);
    overview();
    if (state.cursor !== null) state.cursor = Math.min(Math.max(state.cursor, state.from), state.to);
    pointed();
  });
}

function paint(panel) {
  // A distribution sorts what is in view, which takes longer than a frame: it waits for a pause.
  if (panel.style === "shares" && settling && panel.drawn) return;
  dirty.delete(panel);
  draw(panel);
  if (!painted) performance.mark("first panel");
  panel.drawn = painted = true;
}

/** Unit and manner of a panel. */
function about(panel) {
  const means = panel.style === "rate" ? `means of ${lasting(interval(panel))}` : null;
  const order = panel.style === "events" && runs.length > 1 ? `of each the runs in their order` : null;
  return [panel.unit, panel.note, means, order].filter(Boolean).join("; ");
}

/** What is done when the view has come to rest: distributions, readings, tables, words. */
function settled() {
  settling = 0;
  for (const panel of near) {
    if (!panel.loaded) continue;
    if (dirty.has(panel)) paint(panel);
    panel.about.textContent = about(panel);
    if (state.cursor === null || panel.style === "shares") read(panel);
    tabulate(panel);
    panel.canvas.setAttribute("aria-label", described(panel));
  }
  const {from, to} = state;
  const fine = (to - from) / 1e3;
  document.getElementById("view").textContent = `${seconds(from, fine)} to ${seconds(to, fine)} s`;
}

/** Moves the cursor of all panels and reads them. */
function pointed() {
  const output = document.getElementById("cursor");
  const t = state.cursor;
  output.textContent = t === null ? "" : `${seconds(t, (state.to - state.from) / 1e3)} s`;
  output.dataset.ns = t === null ? "" : String(t);
  for (const panel of all) {
    if (panel.style === "shares" || !panel.loaded) continue;
    panel.line.hidden = t === null;
    if (t !== null) panel.line.style.transform = `translateX(${pixelOf(panel, t)}px)`;
    if (near.has(panel) && !(t === null && settling)) read(panel);
  }
}

/** Shows, while it is dragged, the stretch that will be in view. */
function select(from, to = from) {
  for (const panel of all) {
    if (panel.style === "shares") continue;
    panel.band.hidden = from === null;
    if (from === null) continue;
    const ends = [pixelOf(panel, from), pixelOf(panel, to)].sort((a, b) => a - b);
    panel.band.style.left = `${ends[0]}px`;
    panel.band.style.width = `${ends[1] - ends[0]}px`;
  }
}

const watcher = new IntersectionObserver(async (entries) => {
  for (const {target, isIntersecting} of entries) {
    const panel = all.find(({element}) => element === target);
    if (isIntersecting) near.add(panel);
    else near.delete(panel);
  }
  await Promise.all([...near].map(ready));
}, {rootMargin: "300px"});

async function ready(panel) {
  if (!panel.loaded) {
    await Promise.all(panel.lines.map((line) => load(line, panel.style)));
    panel.loaded = true;
    dirty.add(panel);
  }
  if (dirty.has(panel)) {
    ask();
    clearTimeout(settling);
    settling = setTimeout(settled, 60);
  }
}

/** The whole run in small, with what is in view: the first panel that has a line. */
const overviewPanel = {
  canvas: document.getElementById("overview"), kept: document.createElement("canvas"), stale: true,
};

function overview() {
  const {canvas} = overviewPanel;
  const {kept} = overviewPanel;
  const context = canvas.getContext("2d");
  if (overviewPanel.stale) sketch(canvas, kept);
  context.setTransform(1, 0, 0, 1, 0, 0);
  canvas.width = kept.width;
  canvas.height = kept.height;
  context.drawImage(kept, 0, 0);
  const ratio = devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const across = (t) => LEFT + (t / state.whole) * (width - LEFT - RIGHT);
  const [a, b] = [across(state.from), across(state.to)];
  context.fillStyle = theme.shade;
  context.fillRect(LEFT, 0, a - LEFT, height);
  context.fillRect(b, 0, width - RIGHT - b, height);
  context.strokeStyle = theme.focus;
  context.lineWidth = 1.5;
  context.strokeRect(a, 0.75, Math.max(2, b - a), height - 1.5);
}

/** Draws the lines of the strip on a canvas of their own, since they stay while the view moves. */
function sketch({clientWidth: width, clientHeight: height}, kept) {
  const source = all.find(({loaded, style, lines}) => loaded && (style === "dots" || style === "step") && lines.some(visible));
  const ratio = devicePixelRatio || 1;
  kept.width = Math.round(width * ratio);
  kept.height = Math.round(height * ratio);
  const context = kept.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (source) {
    overviewPanel.stale = false;
    const lines = source.lines.filter((line) => line.series && visible(line));
    const most = Math.max(...lines.map(({series}) => series.extremes(0, series.time.length)[1]), 0) || 1;
    context.fillStyle = theme.muted;
    for (const {series} of lines) {
      let from = 0;
      for (let x = LEFT; x < width - RIGHT; x++) {
        const to = onwards(series.time, ((x + 1 - LEFT) / (width - LEFT - RIGHT)) * state.whole, from);
        if (to > from) {
          const [low, high] = series.extremes(from, to);
          const top = height - 3 - (high / most) * (height - 6);
          context.fillRect(x, top, 1, Math.max(1, height - 3 - (low / most) * (height - 6) - top));
        }
        from = to;
      }
    }
  }
}

function overviewGestures() {
  const {canvas} = overviewPanel;
  let held = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return ((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * state.whole;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const t = at(event);
    const span = state.to - state.from;
    const inside = t >= state.from && t <= state.to && span < state.whole;
    held = inside ? {by: t - state.from, span} : {anchor: t};
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const t = at(event);
    if (held.span !== undefined) show(t - held.by, t - held.by + held.span);
    else if (Math.abs(t - held.anchor) > state.whole / 200) show(Math.min(t, held.anchor), Math.max(t, held.anchor));
  });
  const up = () => { held = null; };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("dblclick", showAll);
}

/** A checkbox with a label; `set` is told whether it is on. */
function box(label, on, set, ...before) {
  const input = make("input", {type: "checkbox", checked: on, onchange: () => set(input.checked)});
  return make("label", {}, input, ...before, make("span", {}, label));
}

function toggle(off, key, on) {
  if (on) off.delete(key);
  else off.add(key);
  relook();
}

/** What is on or off, or the theme, has changed. */
function relook() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "muted", "grid", "axis", "shade", "focus"]) {
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  for (const panel of all) {
    for (const {cells: [{line}], swatch} of panel.rows) paintSwatch(swatch, look(line));
  }
  overviewPanel.stale = true;
  for (const [swatch, line] of swatches) paintSwatch(swatch, look(line));
  for (const section of document.querySelectorAll("section.group")) {
    section.hidden = state.wayOff.has(section.dataset.way);
  }
  changed();
}

const swatches = [];

function paintSwatch(swatch, {colour, dash}) {
  const stops = dash.length ? `repeating-linear-gradient(90deg, ${colour} 0 ${dash[0]}px, transparent ${dash[0]}px ${dash[0] + dash[1]}px)` : colour;
  swatch.style.background = stops;
}

function swatchOf(line) {
  const swatch = make("i", {});
  swatches.push([swatch, line]);
  return swatch;
}

/** The controls beside the panels. */
function controls() {
  const form = document.getElementById("controls");
  if (runs.length > 1) {
    const choice = make("select", {id: "colour-by", onchange: () => { state.colourBy = choice.value; relook(); }},
      make("option", {value: "flow"}, "flows"), make("option", {value: "run"}, "runs"));
    choice.value = state.colourBy;
    form.append(make("fieldset", {}, make("legend", {}, "Runs"),
      ...runs.map(({name}, run) => box(name, true, (on) => toggle(state.runsOff, run, on), swatchOf({run, flow: null}))),
      make("label", {class: "choice"}, "Colours are of ", choice)));
  }
  const numbers = [...new Set(streams.map(({flow}) => flow).filter((flow) => flow !== undefined))].sort((a, b) => a - b);
  if (numbers.length) form.append(flowControls(numbers));
  const ways = [...new Map(all.filter(({link}) => link !== undefined).map((panel) => [panel.section, panel])).values()];
  if (ways.length) {
    form.append(make("fieldset", {}, make("legend", {}, "Links"), ...ways.map(({section, direction}) => {
      const on = direction === "forward";
      if (!on) state.wayOff.add(section);
      return box(section, on, (now) => toggle(state.wayOff, section, now));
    })));
  }
}

function flowControls(numbers) {
  const entries = numbers.map((flow) => {
    const owners = runs.map((_, run) => run).filter((run) => runs[run].flows.some(({id}) => id === flow));
    const names = [...new Set(owners.map((run) => flowName(run, flow)))];
    const label = flow ? names[0] + (names.length > 1 ? " and others" : "") : "no flow";
    const entry = box(label, !state.flowsOff.has(flow), (on) => toggle(state.flowsOff, flow, on), swatchOf({run: 0, flow}));
    entry.dataset.flow = flow;
    return {entry, flow, text: names.join(" ").toLowerCase()};
  });
  const found = () => entries.filter(({entry}) => !entry.hidden);
  const set = (on) => {
    for (const {entry, flow} of found()) {
      entry.querySelector("input").checked = on;
      if (on) state.flowsOff.delete(flow);
      else state.flowsOff.add(flow);
    }
    relook();
  };
  const search = make("input", {type: "search", placeholder: "Find: s1, cubic, …", "aria-label": "Find flows", oninput: () => {
    for (const {entry, text} of entries) entry.hidden = !text.includes(search.value.trim().toLowerCase());
  }});
  const buttons = make("div", {class: "buttons"},
    make("button", {type: "button", onclick: () => set(true)}, "All"),
    make("button", {type: "button", onclick: () => set(false)}, "None"));
  return make("fieldset", {class: "flows"}, make("legend", {}, "Flows"),
    ...(numbers.length > 8 ? [search] : []), ...(numbers.length > 2 ? [buttons] : []),
    make("div", {class: "entries"}, ...entries.map(({entry}) => entry)));
}

function start() {
  const groups = new Map();
  for (const panel of all) {
    if (!groups.has(panel.section)) groups.set(panel.section, []);
    groups.get(panel.section).push(panel);
  }
  const main = document.getElementById("panels");
  for (const [name, members] of groups) {
    const group = make("section", {class: "group", "aria-label": name}, make("h2", {}, name), ...members.map(build));
    group.dataset.way = name;
    main.append(group);
  }
  controls();
  overviewGestures();
  for (const [id, act] of [["closer", KEYS["+"]], ["farther", KEYS["-"]], ["all", showAll], ["keys", KEYS["?"]]]) {
    document.getElementById(id).addEventListener("click", act);
  }
  const shade = /** @type {HTMLSelectElement} */ (document.getElementById("theme"));
  shade.addEventListener("change", () => {
    document.documentElement.dataset.theme = shade.value;
    relook();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", relook);
  new ResizeObserver(() => {
    overviewPanel.stale = true;
    changed();
  }).observe(main);
  relook();
  for (const panel of all) watcher.observe(panel.element);
}

start();
