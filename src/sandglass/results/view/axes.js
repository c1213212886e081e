// The axes of panels: how far they reach, where a value lies on them, and their marks.
"use strict";

const LOG_LEAST = 1e-5; // a logarithmic axis begins at this part of the greatest value, or above
const LOG_AIR = 1.2;
const LOGARITHMIC = "logarithmic axis";
const BOUND_MOST = 4; // times the other lines, for a bound to be within the axis

/** Least and greatest value of a line in view, in the unit of its records; on a logarithmic axis the
 * least is of those above 0. */
function range(panel, {series, run}) {
  if (panel.style === "rate") {
    const rates = [...intervals(panel, run)].map(([from, to]) => series.rate(from, to));
    const placed = panel.log ? rates.filter((rate) => rate > 0) : rates;
    return [Math.min(...placed), Math.max(...placed)];
  }
  const first = lower(series.time, state.from);
  const placed = panel.log ? series.positive() : series;
  return placed.extremes(
    Math.max(0, panel.style === "step" ? first - 1 : first),
    lower(series.time, state.to, first),
  );
}

/** From where to where the axis of values reaches: from zero unless the panel's values float. A bound
 * that is far above the other lines is left out, unless the axis is logarithmic. */
function extent(panel, lines) {
  const ranges = lines.map((line) => ({bound: line.bound, ends: range(panel, line)}));
  const others = ranges.filter(({bound}) => !bound);
  const greatest = (some) => Math.max(...some.map(({ends}) => ends[1]));
  panel.far = !panel.log && others.length > 0 && greatest(ranges) > BOUND_MOST * greatest(others);
  const placed = panel.far ? others : ranges;
  let low = Math.min(...placed.map(({ends}) => ends[0])) * panel.factor;
  const high = greatest(placed) * panel.factor;
  if (panel.log) {
    if (!(high > 0)) return [0.1, 1];
    return [Math.max(low / LOG_AIR, high * LOG_LEAST), high * LOG_AIR];
  }
  if (panel.zero) low = Math.min(low, 0);
  if (!Number.isFinite(high)) return [0, 1];
  if (high - low < 1e-9)
    return panel.zero ? [0, high > 0 ? high * 1.2 : 1] : [low * 0.9, low * 1.1 || 1];
  const air = (high - low) * 0.06;
  return [panel.zero ? 0 : Math.max(0, low - air), high + air];
}

function timeAxis(panel) {
  const {context} = panel;
  const bottom = TOP + panel.height;
  const span = state.to - state.from;
  const room = context.measureText(seconds(state.to, span / 8)).width + 26;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  const marks = ticks(state.from / 1e9, state.to / 1e9, Math.max(2, panel.width / room));
  marks.forEach(({at, text: digits}, n) => {
    const x = pixelOf(panel, at * 1e9);
    const text = n === marks.length - 1 ? `${digits} s` : digits;
    context.fillStyle = theme.grid;
    context.fillRect(Math.round(x), TOP, 1, panel.height);
    context.fillStyle = theme.muted;
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(x, LEFT + panel.width + RIGHT - half), bottom + 14);
  });
}

/** Marks of an axis of values: on a logarithmic one powers of ten and between them what has room,
 * or where it has less than one, round values. */
function valueMarks(panel, low, high) {
  const decades = Math.log10(high / low);
  if (!panel.log || decades < 1) return ticks(low, high, Math.max(2, panel.height / 27), marked);
  const apart = panel.height / decades;
  const digits = apart > 60 ? [1, 2, 5] : apart > 30 ? [1, 3] : [1];
  return powers(low, high, digits).map((at) => ({at, text: digit(at)}));
}

/** Draws the axis of values and gives the function from a value, in the axis' unit, to a pixel. What a
 * logarithmic axis has no place for, such as 0, lies at its foot. */
function valueAxis(panel, low, high) {
  const {context} = panel;
  const bottom = TOP + panel.height;
  const along = panel.log ? (value) => Math.log(Math.max(value, low) / low) : (value) => value - low;
  const scale = (value) => bottom - (along(value) / along(high)) * panel.height;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const {at, text} of valueMarks(panel, low, high)) {
    const y = Math.round(scale(at));
    context.fillStyle = theme.grid;
    context.fillRect(LEFT, y, panel.width, 1);
    context.fillStyle = theme.muted;
    context.fillText(text, LEFT - 7, y);
  }
  return scale;
}

function frame(panel) {
  const {context} = panel;
  context.fillStyle = theme.axis;
  context.fillRect(LEFT, TOP + panel.height, panel.width, 1);
  context.fillRect(LEFT, TOP, 1, panel.height);
}
