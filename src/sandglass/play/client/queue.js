// The knob of a queue: its kind, and the options of that kind.
"use strict";

const FIRST_OPTIONS = 3; // besides those that are set

/** Builds it; `turn` is told the queue with all its options, or undefined for that of the file. */
function queueControl(/** @type {Knob} */ knob, turn) {
  const id = newId();
  const {queues} = opened;
  const kinds = Object.keys(queues);
  if (!kinds.includes(knob.value.kind)) kinds.push(knob.value.kind);
  const about = make("p", {class: "about"});
  const options = make("div", {class: "options"});
  let value = knob.value;
  const told = () => turn(same(value, knob.value) ? undefined : value);
  const select = make("select", {
    id,
    onchange: () => {
      value = ofKind(knob, select.value, value);
      build();
      told();
    },
  });
  select.append(...kinds.map((kind) => make("option", {value: kind}, kind)));
  let shown = /** @type {Map<string, any>} */ (new Map());

  const set = (/** @type {string} */ option, /** @type {any} */ to) => {
    const {[option]: _, ...rest} = value;
    value = to === undefined ? rest : {...value, [option]: to};
    told();
  };
  /** Builds the options of the kind that is chosen. */
  const build = () => {
    select.value = value.kind;
    about.textContent = queues[value.kind]?.about ?? "";
    shown = new Map();
    const known = queues[value.kind]?.options ?? [];
    const strange = Object.keys(value)
      .filter((name) => name !== "kind" && !known.some((option) => option.name === name))
      .map((name) => ({name, form: typeof value[name] === "boolean" ? "flag" : "text", steps: []}));
    const lines = [...known, ...strange].map((option) => {
      const made = optionControl(option, knob, (to) => set(option.name, to));
      shown.set(option.name, made);
      return {option, element: made.element};
    });
    const usual = known.filter(({form}) => form !== "flag").slice(0, FIRST_OPTIONS);
    const open = ({option}) =>
      usual.includes(option) || option.name in value || option.name === "ecn";
    const more = lines.filter((each) => !open(each));
    options.replaceChildren(
      ...lines.filter(open).map(({element}) => element),
      ...(more.length
        ? [
            make(
              "details",
              {},
              make("summary", {}, `More of ${value.kind}`),
              ...more.map(({element}) => element),
            ),
          ]
        : []),
    );
    stand();
  };
  const stand = () => {
    for (const [name, {show}] of shown) show(value[name]);
  };
  build();
  return {
    element: make(
      "div",
      {class: "whole"},
      line(knob, id, select),
      about,
      options,
    ),
    show: (/** @type {any} */ to) => {
      const kind = value.kind;
      value = to;
      if (to.kind !== kind) build();
      else stand();
    },
  };
}

/** The control of an option, which may be unset; then it is as the kernel has it. */
function optionControl(option, {key, name}, turn) {
  const {default: usual} = option;
  const knob = {...option, key: `${key}.${option.name}`, name: option.name, about: option.about};
  if (option.form !== "flag") return fieldControl(knob, turn, usual ? String(usual) : "");
  const made = flagControl(knob, (on) => turn(on === usual ? undefined : on));
  return {...made, show: (/** @type {any} */ value) => made.show(value ?? usual)};
}

/** A queue of a kind, with those options of another one that it knows, and those that it needs. */
function ofKind({value: file}, kind, before) {
  if (kind === file.kind) return file;
  const {options, needed} = opened.queues[kind];
  const was = opened.queues[before.kind]?.options ?? [];
  const alike = (/** @type {any} */ {name, form}) =>
    was.some((each) => each.name === name && each.form === form);
  const kept = options.filter((option) => option.name in before && alike(option));
  const bytes = ["bfifo", "red", "cake"];
  const taken = kept
    .filter(({name}) => name !== "limit" || bytes.includes(kind) === bytes.includes(before.kind))
    .map(({name}) => [name, before[name]]);
  return {kind, ...needed, ...Object.fromEntries(taken)};
}
