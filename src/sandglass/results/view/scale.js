// Ticks, and numbers as people read them.
"use strict";

/** The least of 1, 2, 5, 10, ... times a power of ten that is not below `least`. */
function round(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const found = [1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9));
  return (found ?? 10) * power;
}

/** How many decimals tell multiples of `step` apart. */
function decimals(step) {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}

/** Multiples of a round step, at most `most` of them, that lie in the range, each with what `say` makes
 * of it and the decimals that it needs. */
function ticks(low, high, most, say = (at, places) => grouped(at.toFixed(places))) {
  const step = round(Math.max((high - low) / Math.max(most, 1), 1e-9));
  const places = decimals(step);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    found.push({at: n * step, text: say(n * step, places)});
  }
  return found;
}

/** The digits times powers of ten that lie in the range. */
function powers(low, high, digits) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const digit of digits) found.push(digit * 10 ** power);
  }
  return found.filter((value) => value >= low * 0.999 && value <= high);
}

/** What a mark of an axis of values says: the value with so many decimals, or with a power of ten
 * where more digits would be needed than have room beside the axis. */
function marked(value, places) {
  if (places <= 5 && Math.abs(value) < 1e6) return grouped(value.toFixed(places));
  const digits = Number(value.toFixed(places)).toExponential().replace("+", "");
  return value ? grouped(digits) : "0";
}

/** The same of a value that has one digit, and zeros. */
const digit = (value) => marked(value, decimals(value));

/** A number with thin spaces between thousands, as SI writes it, in front of the point. */
function grouped(text) {
  const [whole, rest] = text.split(".");
  const spaced = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u2009") : whole;
  return (rest === undefined ? spaced : `${spaced}.${rest}`).replace("-", "\u2212");
}

/** A value with four digits, or three of a small one; or, `exact`, with all that it has, of which six
 * are decimals, or of a small one digits. */
function shown(value, exact = false) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return grouped(String(value));
  const size = Math.abs(value);
  if (size < 1e-3) return grouped(String(Number(value.toPrecision(exact ? 6 : 3))));
  if (exact) return grouped(String(Number(value.toFixed(6))));
  if (size >= 1000) return grouped(value.toFixed(0));
  return grouped(value.toFixed(Math.min(4, 3 - Math.floor(Math.log10(size)))));
}

/** A time in ns as seconds, with the decimals that a step of `step` ns needs. */
function seconds(ns, step) {
  return (ns / 1e9).toFixed(Math.min(9, decimals(step / 1e9)));
}

/** A length of time in ns with the unit that fits it. */
function lasting(ns) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ])) {
    if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
  }
  return `${ns} ns`;
}
