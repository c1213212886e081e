// The strip on top: the whole run, and what of it is in view.
"use strict";

const strip = {
  canvas: byId("overview"),
  kept: document.createElement("canvas"),
  stale: true,
};

/** Draws the strip: the lines, as they were kept, and what is in view. */
function overview() {
  const {canvas, kept} = strip;
  if (!canvas.clientWidth) return; // there is nothing that happens over time
  const context = canvas.getContext("2d");
  if (strip.stale) sketch(canvas, kept);
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

/** Draws the lines of the first panel that has any, on a canvas that is kept: they stay as they are
 * while the view moves. */
function sketch({clientWidth: width, clientHeight: height}, kept) {
  const source = all.find(
    ({loaded, style, lines}) =>
      loaded && (style === "dots" || style === "step") && lines.some(visible),
  );
  const ratio = devicePixelRatio || 1;
  kept.width = Math.round(width * ratio);
  kept.height = Math.round(height * ratio);
  const context = kept.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (source) {
    strip.stale = false;
    const lines = source.lines.filter((line) => line.series && visible(line));
    const most =
      Math.max(...lines.map(({series}) => series.extremes(0, series.time.length)[1]), 0) || 1;
    context.fillStyle = theme.muted;
    for (const {series} of lines) {
      let from = 0;
      for (let x = LEFT; x < width - RIGHT; x++) {
        const to = onwards(
          series.time,
          ((x + 1 - LEFT) / (width - LEFT - RIGHT)) * state.whole,
          from,
        );
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

/** A drag moves what is in view, or outside of it chooses a stretch. */
function overviewGestures() {
  const {canvas} = strip;
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
    else if (Math.abs(t - held.anchor) > state.whole / 200)
      show(Math.min(t, held.anchor), Math.max(t, held.anchor));
  });
  const up = () => {
    held = null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("dblclick", showAll);
}
