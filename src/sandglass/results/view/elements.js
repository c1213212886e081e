// Parts of the page.
"use strict";

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

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

/** A checkbox with a label; `set` is told whether it is on. */
function box(label, on, set, ...before) {
  const input = make("input", {type: "checkbox", checked: on, onchange: () => set(input.checked)});
  return make("label", {}, input, ...before, make("span", {}, label));
}

/** Samples of lines' colours and dashes outside of panels, with the lines. */
const swatches = [];

function paintSwatch(swatch, {colour, dash}) {
  const [on, off] = dash;
  const ends = `${colour} 0 ${on}px, transparent ${on}px ${on + off}px`;
  swatch.style.background = dash.length ? `repeating-linear-gradient(90deg, ${ends})` : colour;
}

function swatchOf(line) {
  const swatch = make("i", {});
  swatches.push([swatch, line]);
  return swatch;
}
