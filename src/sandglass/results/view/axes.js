// The axes of panels: how far they reach, where a value lies on them, and their marks.
"use strict";

/** Least and greatest value in view, with zero unless the panel's values float. */
function extent(panel, lines) {
  let low = panel.zero ? 0 : Infinity;
  let high = -Infinity;
  const take = (least, greatest) => {
    if (least < low) low = least;
    if (greatest > high) high = greatest;
  };
  for (const {series, run} of lines) {
    if (panel.style === "rate") {
      for (const [from, to] of intervals(panel, run)) {
        const rate = series.rate(from, to);
        take(rate, rate);
      }
    } else {
      const first = lower(series.time, state.from);
      take(
        ...series.extremes(
          Math.max(0, panel.style === "step" ? first - 1 : first),
          lower(series.time, state.to, first),
        ),
      );
    }
  }
  low *= panel.factor;
  high *= panel.factor;
  if (!Number.isFinite(high)) return [0, 1];
  if (!Number.isFinite(low)) low = 0;
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

/** Draws the axis of values and gives the function from a value, in the axis' unit, to a pixel. */
function valueAxis(panel, low, high) {
  const {context} = panel;
  const bottom = TOP + panel.height;
  const scale = (value) => bottom - ((value - low) / (high - low)) * panel.height;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const {at, text} of ticks(low, high, Math.max(2, panel.height / 27))) {
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
