// Wheel, drag, pinch and keys change what stretch of time is in view, and where the cursor is.
"use strict";

const SHORTEST = 100; // ns in view
const ZOOM = 1.5; // of a key or a button
const SCROLLING = 500; // ms after a scroll of the page in which the wheel goes on scrolling

/** Puts a stretch in view, kept within the runs. */
function show(from, to) {
  const span = Math.min(Math.max(to - from, SHORTEST), state.whole);
  const begin = Math.min(Math.max((from + to - span) / 2, 0), state.whole - span);
  if (begin === state.from && begin + span === state.to) return;
  state.from = begin;
  state.to = begin + span;
  changed();
}

/** Makes what is in view `factor` times as long, with the time `about` where it is. */
function zoom(factor, about = state.cursor ?? (state.from + state.to) / 2) {
  const span = Math.min(Math.max((state.to - state.from) * factor, SHORTEST), state.whole);
  const part = (about - state.from) / (state.to - state.from);
  show(about - part * span, about + (1 - part) * span);
}

function pan(part) {
  const by = part * (state.to - state.from);
  show(state.from + by, state.to + by);
}

const showAll = () => show(0, state.whole);

function point(t) {
  state.cursor = t === null ? null : Math.min(Math.max(t, state.from), state.to);
  pointed();
}

let lastScroll = -Infinity;
addEventListener(
  "scroll",
  () => {
    lastScroll = performance.now();
  },
  {passive: true},
);

/** How far a wheel was turned: the logarithm of a factor, at most 1.4. Two fingers on a touchpad
 * come as a wheel with the control key, and small. */
function turned({deltaY, deltaMode, ctrlKey}) {
  const pixels = deltaY * (deltaMode ? 30 : 1) * (ctrlKey ? 3 : 1);
  return Math.max(-120, Math.min(120, pixels)) * 0.003;
}

/** Lets a panel's canvas be zoomed, dragged and pointed at. */
function gestures(panel) {
  const {canvas} = panel;
  const touches = new Map();
  let dragged = null;
  const x = (event) => event.clientX - canvas.getBoundingClientRect().left;

  canvas.addEventListener(
    "wheel",
    (event) => {
      const out = event.deltaY > 0;
      const scrolls = performance.now() - lastScroll < SCROLLING;
      if (scrolls || x(event) < LEFT || (out && state.to - state.from >= state.whole)) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / panel.width);
      else zoom(Math.exp(turned(event)), timeAt(panel, x(event)));
    },
    {passive: false},
  );

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0 || !panel.drawn) return;
    canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, x(event));
    if (touches.size > 2) return;
    const at = [...touches.values()].map((here) => timeAt(panel, here));
    dragged = {at, from: state.from, select: event.shiftKey ? at[0] : null};
    if (event.pointerType === "touch") point(at[0]);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!touches.has(event.pointerId)) {
      if (!touches.size && panel.drawn) point(timeAt(panel, x(event)));
      return;
    }
    touches.set(event.pointerId, x(event));
    const here = [...touches.values()];
    if (here.length === 2 && dragged.at.length === 2) pinch(panel, here, dragged.at);
    else if (dragged.select !== null) select(dragged.select, timeAt(panel, here[0]));
    else if (here.length === 1) {
      const by = dragged.at[0] - timeAt(panel, here[0]);
      show(state.from + by, state.to + by);
      if (event.pointerType !== "touch") point(timeAt(panel, here[0]));
    }
  });
  const up = (event) => {
    if (!touches.delete(event.pointerId)) return;
    if (dragged?.select != null && event.type === "pointerup") {
      const ends = [dragged.select, timeAt(panel, x(event))].sort((a, b) => a - b);
      select(null);
      if (ends[1] - ends[0] > (state.to - state.from) / 200) show(...ends);
    }
    const left = [...touches.values()];
    dragged = left.length ? {at: left.map((here) => timeAt(panel, here)), select: null} : null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", (event) => {
    select(null);
    up(event);
  });
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && !touches.size) point(null);
  });
  canvas.addEventListener("dblclick", showAll);
}

/** Moves the view so that the times that two fingers took hold of stay under them. */
function pinch(panel, fingers, times) {
  const [[a, b], [first, second]] = [fingers, times];
  if (Math.abs(a - b) < 8) return;
  const perPixel = Math.abs((second - first) / (b - a));
  const from = (first + second) / 2 - ((a + b) / 2 - LEFT) * perPixel;
  show(from, from + perPixel * panel.width);
}

/** A distribution has an axis of its own, on which it is pointed at. */
function pointAtValues(panel) {
  const {canvas} = panel;
  const move = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    panel.pointer = x < LEFT || x > LEFT + panel.width ? null : panel.valueAt(x);
    panel.line.hidden = panel.pointer === null;
    panel.line.style.transform = `translateX(${x}px)`;
    read(panel);
  };
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerdown", move);
  canvas.addEventListener("pointerleave", () => {
    panel.pointer = null;
    panel.line.hidden = true;
    read(panel);
  });
}

const ARROWS = {ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1)};

/** Makes the axis of the panel that a sign was meant for logarithmic or no longer so; of the strip
 * those of all panels. */
function switchAxes({target}) {
  const meant = all.filter(hasValueAxis);
  const own = meant.filter(({element}) => element.contains(target));
  const switched = own.length || !target.closest("nav") ? own : meant;
  setLogarithmic(
    switched,
    switched.some(({log}) => !log),
  );
}

/** Signs that speech or a slip may type: they act only where something of time has the focus. */
const KEYS = {
  "+": () => zoom(1 / ZOOM),
  "=": () => zoom(1 / ZOOM),
  "-": () => zoom(ZOOM),
  0: showAll,
  "?": () => byId("help").showModal(),
  l: switchAxes,
};

/** What signs act in: panels, and the strip with its buttons (WCAG 2.1.4). */
const TAKE_SIGNS = ".panel, nav";

/** What does something of its own with a key. */
const HAVE_KEYS = "input:not([type=checkbox]), select, dialog, pre, .scroll";

/** Moves the cursor by a pixel or so; from the middle where there is none. */
function step(direction) {
  const middle = (state.from + state.to) / 2;
  point(
    state.cursor === null ? middle : state.cursor + (direction * (state.to - state.from)) / 500,
  );
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest(HAVE_KEYS)) return;
  if (event.shiftKey && event.key.startsWith("Arrow")) {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      step(event.key === "ArrowLeft" ? -1 : 1);
    }
    return;
  }
  if (event.key === "Escape") point(null);
  const signs = event.target instanceof Element && event.target.closest(TAKE_SIGNS);
  const act = ARROWS[event.key] ?? (signs ? KEYS[event.key] : undefined);
  if (!act) return;
  event.preventDefault();
  act(event);
});
