// Panels on their canvases. A line whose records are closer than pixels is drawn by the least and
// the greatest of each column of pixels, so that no extreme is lost and no frame takes long.
"use strict";

const LEFT = 58;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 20;
const FONT = "11px system-ui, sans-serif";
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const COLUMNS_PER_INTERVAL = 4;
const PIXELS_PER_MARK = 6; // of all lines together, for each record to get a mark
const PACKETS_PER_INTERVAL = 10; // at least, of the flow with most, on the average over the run

/** The time of a pixel, and the pixel of a time. */
const timeAt = (panel, x) => state.from + ((x - LEFT) / panel.width) * (state.to - state.from);
const pixelOf = (panel, t) => LEFT + ((t - state.from) / (state.to - state.from)) * panel.width;

/** The length of time (ns) over which rates are means and events are counted: a round one, or of a
 * page that has not all records, a multiple of the interval at whose ends amounts are exact. A
 * rate's is not so short that it would show single packets. */
function interval(panel) {
  const columns = Math.max(panel.width, 1) / COLUMNS_PER_INTERVAL;
  const rows = Math.max(...panel.lines.map((line) => line.rows));
  const least = panel.style === "rate" ? (PACKETS_PER_INTERVAL * state.whole) / rows : 1000;
  const length = round(Math.max((state.to - state.from) / columns, least));
  return content.interval ? Math.ceil(length / content.interval) * content.interval : length;
}

/** Gives the canvas as many pixels as the screen has for it, and says whether there are any. */
function fit(panel) {
  const {canvas} = panel;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  panel.width = width - LEFT - RIGHT;
  panel.height = height - TOP - BOTTOM;
  panel.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  panel.context.clearRect(0, 0, width, height);
  panel.context.font = FONT;
  return panel.width > 20;
}

function draw(panel) {
  if (!fit(panel)) return;
  const shownLines = panel.lines.filter((line) => line.series && visible(line));
  const {context} = panel;
  if (panel.style === "shares") drawShares(panel, shownLines);
  else {
    timeAxis(panel);
    if (panel.style === "events") drawEvents(panel, shownLines);
    else {
      const [low, high] = extent(panel, shownLines);
      if (panel.style !== "rate") {
        const records = shownLines.reduce((sum, {series}) => sum + inSight(series.time), 0);
        panel.sparse = records < panel.width / PIXELS_PER_MARK;
      }
      panel.scale = valueAxis(panel, low, high);
      context.save();
      context.beginPath();
      context.rect(LEFT, 0, panel.width, TOP + panel.height + 1);
      context.clip();
      for (const line of shownLines) {
        const {colour, dash} = look(line);
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = line.thin ? 0.8 : 1.4;
        context.globalAlpha = panel.style === "dots" && shownLines.length > 1 ? 0.85 : 1;
        context.setLineDash(dash);
        if (panel.style === "rate") drawRate(panel, line);
        else if (panel.style === "step") drawSteps(panel, line);
        else drawDots(panel, line);
      }
      context.restore();
    }
  }
  frame(panel);
}

/** The intervals of a panel that begin in view or before, and in the run. */
function* intervals(panel, run) {
  const length = interval(panel);
  const end = Math.min(state.to, runs[run].duration);
  for (let n = Math.max(0, Math.floor(state.from / length)); n * length < end; n++) {
    yield [n * length, Math.min((n + 1) * length, runs[run].duration)];
  }
}

/** Calls `each` for each column of pixels with records: x, the first, the one after the last. */
function byColumn(panel, time, each) {
  const scale = window.devicePixelRatio || 1;
  const count = Math.ceil(panel.width * scale);
  let from = lower(time, state.from);
  for (let n = 0; n < count; n++) {
    const end = state.from + ((n + 1) / count) * (state.to - state.from);
    const to = onwards(time, n === count - 1 ? state.to + 1 : end, from);
    if (to > from) each(LEFT + n / scale, from, to);
    from = to;
  }
}

/** How many records are in view. */
function inSight(time) {
  const first = lower(time, state.from);
  return lower(time, state.to, first) - first;
}

/** Whether more than two records of a line share a column of pixels, on the average. */
const dense = (panel, time) => inSight(time) > 2 * panel.width;

function drawDots(panel, {series}) {
  const {context, scale, factor} = panel;
  if (dense(panel, series.time)) {
    const thickness = 1 / (window.devicePixelRatio || 1);
    byColumn(panel, series.time, (x, from, to) => {
      const [low, high] = series.extremes(from, to);
      const top = scale(high * factor);
      context.fillRect(x, top - 0.75, thickness, scale(low * factor) - top + 1.5);
    });
    return;
  }
  const end = Math.min(lower(series.time, state.to) + 1, series.time.length);
  const first = Math.max(0, lower(series.time, state.from) - 1);
  const size = panel.sparse ? 4 : 2;
  for (let i = first; i < end; i++) {
    const x = pixelOf(panel, series.time[i]);
    context.fillRect(x - size / 2, scale(series.value[i] * factor) - size / 2, size, size);
  }
}

function drawSteps(panel, line) {
  const {context, scale, factor} = panel;
  const {series} = line;
  const {time, value} = series;
  if (dense(panel, time)) {
    const thickness = 1 / (window.devicePixelRatio || 1);
    const thin = context.lineWidth;
    let last = LEFT;
    byColumn(panel, time, (x, from, to) => {
      const held = from > 0 ? value[from - 1] : NaN;
      if (x - last > thickness && !Number.isNaN(held)) {
        context.fillRect(last, scale(held * factor) - thin / 2, x - last, thin);
      }
      const [low, high] = series.extremes(Math.max(0, from - 1), to);
      const top = scale(high * factor);
      if (low <= high)
        context.fillRect(x, top - thin / 2, thickness, scale(low * factor) - top + thin);
      last = x + thickness;
    });
    const next = lower(time, state.to + 1);
    const until = pixelOf(panel, Math.min(state.to, time[next] ?? ending(line)));
    const held = value[next - 1];
    if (until > last && !Number.isNaN(held)) {
      context.fillRect(last, scale(held * factor) - thin / 2, until - last, thin);
    }
    return;
  }
  context.beginPath();
  let open = false;
  const first = Math.max(0, lower(time, state.from) - 1);
  const end = Math.min(lower(time, state.to) + 1, time.length);
  const clamped = (t) => Math.min(Math.max(pixelOf(panel, t), LEFT - 9), LEFT + panel.width + 9);
  for (let i = first; i < end; i++) {
    if (Number.isNaN(value[i])) {
      open = false;
      continue;
    }
    const x = clamped(time[i]);
    const y = scale(value[i] * factor);
    if (open) context.lineTo(x, y);
    else context.moveTo(x, y);
    const until = i + 1 < time.length ? time[i + 1] : Math.min(ending(line), state.to);
    context.lineTo(clamped(Math.max(until, time[i])), y);
    open = true;
  }
  context.stroke();
  if (panel.sparse) {
    for (let i = first; i < end; i++) {
      if (!Number.isNaN(value[i])) {
        context.fillRect(clamped(time[i]) - 2, scale(value[i] * factor) - 2, 4, 4);
      }
    }
  }
}

/** Until when the last value of a line is held: of a connection, which may have ended, until what
 * is last told of it. */
function ending({run, series, streams: [stream]}) {
  const {duration} = runs[run];
  return ["acks", "qlog"].includes(streams[stream].kind)
    ? Math.min(series.time[series.time.length - 1], duration)
    : duration;
}

function drawRate(panel, {series, run}) {
  const {context, scale, factor} = panel;
  const end = Math.min(state.to, runs[run].duration);
  context.beginPath();
  let open = false;
  for (const [from, to] of series.stretches?.(state.from, end) ?? intervals(panel, run)) {
    const y = scale(series.rate(from, to) * factor);
    if (open) context.lineTo(pixelOf(panel, from), y);
    else context.moveTo(pixelOf(panel, from), y);
    context.lineTo(pixelOf(panel, to), y);
    open = true;
  }
  context.stroke();
}

/** The lanes of a panel of events: one per kind, and in each one per run. */
function lanes(panel) {
  const shownRuns = runs.map((_, run) => run).filter((run) => !state.runsOff.has(run));
  return panel.kinds.flatMap((kind) => shownRuns.map((run) => ({kind, run})));
}

function drawEvents(panel, lines) {
  const {context} = panel;
  const all = lanes(panel);
  const height = panel.height / Math.max(all.length, 1);
  const each = all.length / panel.kinds.length;
  all.forEach(({kind, run}, n) => {
    const top = TOP + n * height;
    if (n % each === 0) {
      context.fillStyle = theme.axis;
      context.fillRect(LEFT, Math.round(top), panel.width, n ? 1 : 0);
      context.fillStyle = theme.muted;
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(kind, LEFT - 7, top + (each * height) / 2);
    }
    for (const line of lines) {
      if (line.measure !== kind || line.run !== run) continue;
      context.fillStyle = look(line).colour;
      byColumn(panel, line.series.time, (x) =>
        context.fillRect(x - 0.75, top + 2, 1.5, height - 4),
      );
    }
  });
}

/** What a distribution is of: the values in view, or all where they have no time. */
function within({time, value}) {
  if (!time) return value;
  const first = lower(time, state.from);
  return value.subarray(first, lower(time, state.to + 1, first));
}

function drawShares(panel, lines) {
  const {context, factor} = panel;
  const bottom = TOP + panel.height;
  const sorted = lines
    .map((line) => [line, sortedWithin(line)])
    .filter(([, values]) => values.length);
  const greatest =
    Math.max(...sorted.map(([, values]) => values[values.length - 1] * factor), 0) || 1;
  const least = Math.max(
    greatest * LOG_LEAST,
    Math.min(
      ...sorted.map(([, values]) => (values[lower(values, 1e-12)] ?? greatest) * factor),
      greatest / 10,
    ),
  );
  const low = Math.log10(least);
  const high = Math.log10(greatest * 1.05);
  panel.valueAt = (x) => 10 ** (low + ((x - LEFT) / panel.width) * (high - low));
  const across = (value) =>
    value <= least ? LEFT : LEFT + ((Math.log10(value) - low) / (high - low)) * panel.width;
  panel.across = across;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  const apart = panel.width / (high - low);
  const digits = apart > 150 ? [1, 2, 5] : apart > 60 ? [1, 3] : [1];
  let room = LEFT + panel.width + RIGHT;
  let first = true;
  for (const value of powers(least, greatest * 1.05, digits).reverse()) {
    const x = across(value);
    context.fillStyle = theme.grid;
    context.fillRect(Math.round(x), TOP, 1, panel.height);
    const text = `${digit(value)}${first ? ` ${panel.unit}` : ""}`;
    const half = context.measureText(text).width / 2;
    if (x + half > room && !first) continue;
    context.fillStyle = theme.muted;
    const at = Math.min(x, room - half);
    context.fillText(text, at, bottom + 14);
    room = at - half - 6;
    first = false;
  }
  panel.scale = valueAxis(panel, 0, 1);
  for (const [line, values] of sorted) {
    const {colour, dash} = look(line);
    context.strokeStyle = colour;
    context.lineWidth = 1.6;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(LEFT, panel.scale(0));
    const steps = Math.min(values.length, Math.ceil(panel.width * 2));
    for (let n = 1; n <= steps; n++) {
      const rank = Math.ceil((n / steps) * values.length);
      const x = across(values[rank - 1] * factor);
      if (steps === values.length) context.lineTo(x, panel.scale((rank - 1) / values.length));
      context.lineTo(x, panel.scale(rank / values.length));
    }
    context.lineTo(LEFT + panel.width, panel.scale(1));
    context.stroke();
    context.setLineDash([]);
  }
}

/** A line's values in view, sorted: kept until the view changes. */
function sortedWithin(line) {
  const view = `${state.from} ${state.to}`;
  if (line.sortedOf !== view) {
    line.sorted = Float64Array.from(within(line.series)).sort();
    line.sortedOf = view;
  }
  return line.sorted;
}
