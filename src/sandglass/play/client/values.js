// What an experiment's knobs stand at, and the settings that this comes to.
"use strict";

/**
 * What knobs.py says of a knob.
 * @typedef {{key: string, name: string, group: string, form: string, value: any, about: string,
 *   steps: any[], choices: string[], also: string[]}} Knob
 */

/** What of a file differs from it: a value by the key of each knob that was turned.
 * @typedef {Record<string, any>} Values */

const WORD = /^[\w.+%-][\w.+% -]{0,59}$/;

/** Whether a value may come out of a link: as the server has it. */
function harmless(value) {
  if (typeof value === "string") return WORD.test(value);
  if (Array.isArray(value)) return value.every(harmless);
  return typeof value === "number" || typeof value === "boolean";
}

/** Whether two values are the same, whatever order their keys have. */
function same(one, other) {
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return one === other;
  const [keys, others] = [Object.keys(one), Object.keys(other)];
  return keys.length === others.length && keys.every((key) => same(one[key], other[key]));
}

/** A value as `--set` takes it. */
function setting(value) {
  if (Array.isArray(value)) return `[${value.map(setting).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}: ${setting(each)}`)
    .join(", ")}}`;
}

/** The settings of values, in the order of the knobs. */
function settings(/** @type {Knob[]} */ knobs, /** @type {Values} */ values) {
  return knobs
    .filter(({key}) => key in values)
    .flatMap((knob) => (knob.form === "queue" ? ofQueue(knob, values[knob.key]) : plainly(knob, values)));
}

function plainly({key, also}, values) {
  return [key, ...also].map((each) => `${each}=${setting(values[key])}`);
}

/** A queue's options one by one where they only changed, else all of it. */
function ofQueue({key, value: file}, value) {
  const kept = Object.keys(file).every((option) => option in value);
  if (!kept || file.kind !== value.kind) return [`${key}=${setting(value)}`];
  return Object.keys(value)
    .filter((option) => !same(value[option], file[option]))
    .map((option) => `${key}.${option}=${setting(value[option])}`);
}

/** In a few words, how values differ from others. */
function difference(/** @type {Knob[]} */ knobs, /** @type {Values} */ values, others) {
  const words = knobs.flatMap(({key, name, form, value: file}) => {
    const [here, there] = [values[key] ?? file, others[key] ?? file];
    if (same(here, there)) return [];
    if (form !== "queue") return [`${name} ${setting(here)}`];
    if (here.kind !== there.kind) return [here.kind];
    const options = Object.keys({...here, ...there}).filter(
      (option) => !same(here[option], there[option]),
    );
    return options.map((option) => `${option} ${setting(here[option] ?? "unset")}`);
  });
  const text = words.join(", ");
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
