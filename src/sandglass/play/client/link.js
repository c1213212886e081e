// A state as a link: what is open, and what differs from its file, in the address's fragment.
"use strict";

/** The fragment of a state. */
function fragment({name, values, beside}) {
  const parts = new URLSearchParams({open: name});
  if (Object.keys(values).length) parts.set("a", JSON.stringify(values));
  if (beside) parts.set("b", JSON.stringify(beside));
  return `#${parts}`;
}

/** The state of a fragment; null of one that opens nothing. What no page of ours would write there
 * is left out. */
function stateOf(text) {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const name = parts.get("open");
  if (name === null) return null;
  return {name, values: valuesOf(parts.get("a")) ?? {}, beside: valuesOf(parts.get("b"))};
}

function valuesOf(text) {
  if (text === null) return null;
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof found !== "object" || !found || Array.isArray(found)) return null;
  const plain = (/** @type {any} */ value) =>
    harmless(value) ||
    (typeof value === "object" && value !== null && Object.values(value).every(harmless));
  return Object.fromEntries(Object.entries(found).filter(([, value]) => plain(value)));
}
