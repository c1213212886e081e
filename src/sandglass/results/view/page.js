// The page put together, and who is told when something changes.
"use strict";

let all = /** @type {Panel[]} */ ([]);

const REST = 500; // ms in which nothing moved before it is said what there is

const near = /** @type {Set<Panel>} */ (new Set());
const dirty = /** @type {Set<Panel>} */ (new Set());
let frameAsked = false;
let settling = 0;
let painted = false;
let saying = 0;

/** Draws all panels that are near the screen in the next frame; the others when they come. */
function changed() {
  for (const panel of all) dirty.add(panel);
  ask();
  clearTimeout(settling);
  settling = setTimeout(settled, 160);
}

/** Has what is near drawn in the next frame. */
function ask() {
  if (frameAsked) return;
  frameAsked = true;
  requestAnimationFrame(() => {
    frameAsked = false;
    for (const panel of near) if (dirty.has(panel) && panel.loaded) paint(panel);
    overview();
    if (state.cursor !== null)
      state.cursor = Math.min(Math.max(state.cursor, state.from), state.to);
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
  const order =
    panel.style === "events" && runs.length > 1 ? `of each the runs in their order` : null;
  const bounded = panel.lines.some(({bound}) => bound);
  const bound = bounded ? `capacity: ${panel.far ? "above the axis" : "thin"}` : null;
  const axis = panel.log ? LOGARITHMIC : null;
  return [panel.unit, panel.note, bound, means, order, axis].filter(Boolean).join("; ");
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
  byId("view").textContent = inView();
  for (const {list} of all) {
    if (list.scrollHeight > list.clientHeight) list.setAttribute("tabindex", "0");
    else list.removeAttribute("tabindex");
  }
}

/** Has a screen reader say the time, and the readings of the panel that has the focus. */
function say() {
  const panel = all.find(({element}) => element.contains(document.activeElement));
  const time = state.cursor === null ? inView() : byId("cursor").textContent;
  byId("said").textContent = panel ? `${time}. ${spoken(panel)}` : time;
}

/** Moves the cursor of all panels and reads them. */
function pointed() {
  const output = byId("cursor");
  const t = state.cursor;
  output.textContent = t === null ? "" : `${seconds(t, (state.to - state.from) / 1e3)} s`;
  output.dataset.ns = t === null ? "" : String(t);
  for (const panel of all) {
    if (panel.style === "shares" || !panel.loaded) continue;
    panel.line.hidden = t === null;
    if (t !== null) panel.line.style.transform = `translateX(${pixelOf(panel, t)}px)`;
    if (near.has(panel) && !(t === null && settling)) read(panel);
  }
  clearTimeout(saying);
  saying = setTimeout(say, REST);
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

const watcher = new IntersectionObserver(
  async (entries) => {
    for (const {target, isIntersecting} of entries) {
      const panel = all.find(({element}) => element === target);
      if (isIntersecting) near.add(panel);
      else near.delete(panel);
    }
    await Promise.all([...near].map(ready));
  },
  {rootMargin: "300px"},
);

/** Unpacks a panel that has come near, and draws it unless it is as it should be. */
async function ready(/** @type {Panel} */ panel) {
  if (!panel.loaded) {
    const {lines} = panel;
    await Promise.all(lines.map((line) => load(line, panel.style)));
    if (panel.lines !== lines) return; // others have come meanwhile
    panel.loaded = true;
    dirty.add(panel);
  }
  if (dirty.has(panel)) {
    ask();
    clearTimeout(settling);
    settling = setTimeout(settled, 60);
  }
}

/** Gives panels a logarithmic axis of values, or one that is not. */
function setLogarithmic(switched, log) {
  for (const panel of switched) {
    panel.log = log;
    panel.switch.setAttribute("aria-pressed", String(log));
  }
  changed();
}

/** What is on or off, or the theme, has changed. */
function relook() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "muted", "grid", "axis", "shade", "focus"]) {
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  for (const panel of all) {
    for (const {cells, swatch} of panel.rows) paintSwatch(swatch, look(cells[0].line));
  }
  strip.stale = true;
  for (const [swatch, line] of swatches) paintSwatch(swatch, look(line));
  for (const section of byId("panels").children) {
    section.hidden = state.wayOff.has(section.dataset.way);
  }
  changed();
}

/** Builds what is of the runs that were taken; panels are unpacked and drawn when they come near
 * the screen. */
function assemble() {
  begin();
  all = panels();
  const groups = new Map();
  for (const panel of all) {
    if (!groups.has(panel.section)) groups.set(panel.section, []);
    groups.get(panel.section).push(panel);
  }
  const main = byId("panels");
  document.querySelector("nav").hidden = !all.some(({style}) => style !== "shares");
  for (const [name, members] of groups) {
    const group = make(
      "section",
      {class: "group", "aria-label": name},
      make("h2", {}, name),
      ...members.map(build),
    );
    group.dataset.way = name;
    main.append(group);
  }
  controls();
  relook();
  for (const panel of all) watcher.observe(panel.element);
}

/** Builds everything, and has it answer. */
function start() {
  assemble();
  overviewGestures();
  const buttons = {closer: KEYS["+"], farther: KEYS["-"], all: showAll, keys: KEYS["?"]};
  for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener("click", act);
  const shade = /** @type {HTMLSelectElement} */ (byId("theme"));
  shade.addEventListener("change", () => {
    document.documentElement.dataset.theme = shade.value;
    relook();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", relook);
  new ResizeObserver(() => {
    strip.stale = true;
    changed();
  }).observe(byId("panels"));
}
