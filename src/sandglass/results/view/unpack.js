// The page's streams, as packing.py wrote them. Each is unpacked when something first needs it.
"use strict";

/**
 * How a column is written: so many bytes a number, in this unit.
 * @typedef {{bytes: number, unit: number}} Layout
 */

/**
 * What gauges.py says of the panel of a gauge; its title is the same of the same gauge in all runs.
 * @typedef {{title: string, unit: string, note: string, factor: number, floating?: boolean}} Gauge
 */

/**
 * A table as streams.py has it; `whole` tells of a column of which not all records are here.
 * @typedef {{run: number, kind: string, link?: string, direction?: string, flow?: number,
 *   name?: string, gauge?: Gauge, rows: number, columns: Record<string, Layout>,
 *   whole?: Record<string, any>}} Stream
 */

let content = /** @type {any} */ ({});
let runs = /** @type {any[]} */ ([]);
let streams = /** @type {Stream[]} */ ([]);
/** Gives the text of a stream, and forgets it. */
let packed = (/** @type {number} */ _number) => "";

/** @type {Map<number, Promise<Record<string, Float64Array>>>} */
const unpacked = new Map();

/** Takes runs and streams, in the place of those before. */
function take(given, text) {
  [content, runs, streams, packed] = [given, given.runs, given.streams, text];
  unpacked.clear();
}

/** The columns of a stream: whole numbers, which Float64Array holds exactly below 2^53. */
function columns(/** @type {number} */ number) {
  let found = unpacked.get(number);
  if (!found) {
    found = unpack(number);
    unpacked.set(number, found);
  }
  return found;
}

async function unpack(/** @type {number} */ number) {
  const {rows, columns} = streams[number];
  const deflated = Uint8Array.from(atob(packed(number)), (letter) => letter.charCodeAt(0));
  const inflated = new Blob([deflated])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(inflated).arrayBuffer());
  const table = /** @type {Record<string, Float64Array>} */ ({});
  let at = 0;
  for (const [name, layout] of Object.entries(columns)) {
    table[name] = restored(bytes, at, rows, layout);
    at += rows * layout.bytes;
  }
  return table;
}

/** A column from its differences; see packing.py. */
function restored(bytes, at, rows, layout) {
  const numbers = new Float64Array(rows);
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    let natural = 0;
    for (let place = 1, n = 0; n < layout.bytes; n++, place *= 256) natural += bytes[at++] * place;
    sum += natural % 2 ? -(natural + 1) / 2 : natural / 2;
    numbers[row] = sum * layout.unit;
  }
  return numbers;
}
