// Knobs as elements of the page: each says what it stands at, and is told when that changes.
"use strict";

let ids = 0;
/** An id that no other element has. */
const newId = () => `knob-${++ids}`;

/**
 * Builds the control of a knob; `turn` is told its new value, or undefined for that of the file.
 * Gives the element, and what makes it stand at a value.
 * @returns {{element: HTMLElement, show: (value: any) => void}}
 */
function control(/** @type {Knob} */ knob, turn) {
  if (knob.form === "queue") return queueControl(knob, turn);
  if (knob.form === "flag") return flagControl(knob, turn);
  if (knob.form === "choice") return choiceControl(knob, turn);
  return fieldControl(knob, turn);
}

/** A line about a knob, in which its control stands. */
function line(knob, id, ...parts) {
  const label = make("label", {for: id}, knob.name);
  const element = make("div", {class: "knob"}, label, ...parts);
  element.dataset.key = knob.key;
  if (knob.about) element.title = knob.about;
  return element;
}

function flagControl(knob, turn) {
  const id = newId();
  const input = make("input", {type: "checkbox", id, onchange: () => turn(input.checked)});
  return {
    element: line(knob, id, input),
    show: (value) => {
      input.checked = Boolean(value);
    },
  };
}

function choiceControl(knob, turn) {
  const id = newId();
  const select = make("select", {id, onchange: () => turn(select.value)});
  select.append(...knob.choices.map((name) => make("option", {value: name}, name)));
  return {
    element: line(knob, id, select),
    show: (value) => {
      if (!knob.choices.includes(value)) select.append(make("option", {value}, String(value)));
      select.value = value;
    },
  };
}

/** What was typed, as a value: a number where the file would have one. */
function typed(text) {
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** A field for a value, with a slider over steps where there are any, or for a seed a button. */
function fieldControl(knob, turn, unset = "") {
  const id = newId();
  const field = make("input", {
    id,
    type: "text",
    size: 8,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: unset,
    onchange: () => turn(field.value.trim() === "" ? undefined : typed(field.value.trim())),
  });
  const {steps} = knob;
  if (!steps.length) {
    const more =
      knob.form === "seed"
        ? [
            make(
              "button",
              {type: "button", onclick: () => turn(Number(field.value || 0) + 1)},
              "Another",
            ),
          ]
        : [];
    return {
      element: line(knob, id, ...more, field),
      show: (value) => {
        field.value = value === undefined ? "" : setting(value);
      },
    };
  }
  const slider = make("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    "aria-label": `${knob.name}, in steps`,
    oninput: () => {
      const value = steps[slider.valueAsNumber];
      field.value = setting(value);
      slider.setAttribute("aria-valuetext", field.value);
      turn(value);
    },
  });
  return {
    element: line(knob, id, slider, field),
    show: (value) => {
      field.value = value === undefined ? "" : setting(value);
      const at = steps.findIndex((step) => setting(step) === (field.value || unset));
      slider.value = at >= 0 ? at : closest(steps, field.value || unset);
      slider.setAttribute("aria-valuetext", field.value || `as the kernel has it, ${unset}`);
    },
  };
}

const SIZES = {
  ...{"": 1, p: 1, bdp: 1, "%": 1, bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, tbit: 1e12},
  ...{ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12},
  ...{B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824},
};

/** The place of the step that is nearest to a text. */
function closest(steps, text) {
  const number = (/** @type {any} */ each) => {
    const [, amount, unit] = String(each).match(/^([\d.]+)\s*([A-Za-z%]*)$/) ?? [];
    return Number(amount) * (SIZES[unit ?? ""] ?? NaN);
  };
  const wanted = Math.log(number(text));
  let [found, least] = [0, Infinity];
  steps.forEach((step, at) => {
    const away = Math.abs(Math.log(number(step)) - wanted);
    if (away < least) [found, least] = [at, away];
  });
  return found;
}
