// Which panels there are, and which lines each has.
"use strict";

/**
 * A stream's column; or of a rate, which may be of a flow with several connections, each one's.
 * `measure` is the column, or of events their kind; `thin` how it is drawn; `rows` its records;
 * `bound` says that it is what the others could not exceed.
 * @typedef {{run: number, flow: number | null, name?: string, connection?: number,
 *   measure: string, thin: boolean, bound?: boolean, streams: number[], rows: number,
 *   series?: any, whole?: any, sorted?: Float64Array, sortedOf?: string}} Line
 */

/**
 * A panel: what it shows, which `gauge` if it is of one; and, once it is built, its elements and where it is drawn.
 * @typedef {{id: string, section: string, link?: string, direction?: string, title: string,
 *   unit: string, factor: number, note?: string, of: string, zero: boolean, lines: Line[],
 *   style: "dots" | "step" | "rate" | "events" | "shares", kinds?: string[], measures?: string[],
 *   element?: any, canvas?: any, context?: CanvasRenderingContext2D, line?: any, band?: any,
 *   about?: any, heading?: any, nothing?: any, list?: any, details?: any, table?: any, rows?: any[],
 *   gauge?: string, switch?: any, log?: boolean, far?: boolean, width?: number, height?: number,
 *   scale?: (value: number) => number, valueAt?: (x: number) => number, pointer?: number | null,
 *   sparse?: boolean, loaded?: boolean, drawn?: boolean}} Panel
 */

const NS_TO_MS = 1e-6;
const BYTES_TO_MBIT = 8e-6;

const OF_LINKS = [
  {
    kind: "packets",
    column: "sojourn",
    title: "Queueing delay",
    unit: "ms",
    factor: NS_TO_MS,
    style: "dots",
    of: "packets sent",
  },
  {
    kind: "backlog",
    column: "backlog",
    title: "Backlog",
    unit: "packets",
    factor: 1,
    style: "step",
    of: "time",
  },
  {
    kind: "packets",
    column: "sent",
    title: "Rate by flow",
    unit: "Mb/s",
    factor: BYTES_TO_MBIT,
    style: "rate",
    of: "intervals",
  },
  {
    kind: "samples",
    column: "sent",
    title: "Rate of all flows",
    unit: "Mb/s",
    factor: BYTES_TO_MBIT,
    style: "rate",
    of: "intervals",
  },
  {
    kinds: ["drops", "marks"],
    title: "Drops and marks",
    unit: "packets",
    factor: 1,
    style: "events",
    of: "packets",
    measures: ["drops", "marks"],
  },
];
const OF_GAUGES = {kind: "gauge", column: "value", style: "step", of: "time"};
const DISTRIBUTION = {
  kind: "packets",
  column: "sojourn",
  title: "Distribution of queueing delay",
  unit: "ms",
  factor: NS_TO_MS,
  style: "shares",
  of: "packets sent",
};
const DROPS_ALONE = {kinds: ["drops"], measures: undefined, title: "Drops"};
const OF_FLOWS = [
  {
    kinds: ["acks", "qlog"],
    columns: ["cwnd", "ssthresh"],
    title: "Congestion window",
    unit: "packets",
    factor: 1,
    style: "step",
    of: "time",
    measures: ["cwnd", "ssthresh"],
    note: "slow-start threshold: thin",
  },
  {
    kinds: ["acks", "qlog"],
    column: "srtt",
    title: "Smoothed round-trip time",
    unit: "ms",
    factor: 1e-3,
    style: "step",
    of: "time",
    floating: true,
  },
  {
    kind: "acks",
    column: "acked",
    title: "Goodput",
    unit: "Mb/s",
    factor: BYTES_TO_MBIT,
    style: "rate",
    of: "intervals",
  },
  {
    kind: "goodput",
    column: "acked",
    title: "Goodput",
    unit: "Mb/s",
    factor: BYTES_TO_MBIT,
    style: "rate",
    of: "intervals",
  },
  {
    kinds: ["resent"],
    title: "Retransmissions",
    note: "of QUIC: packets held for lost",
    unit: "packets",
    factor: 1,
    style: "events",
    of: "packets",
  },
  {
    kind: "deliveries",
    column: "took",
    title: "One-way delay",
    unit: "ms",
    factor: NS_TO_MS,
    style: "dots",
    of: "packets received",
  },
  {
    kind: "echoes",
    column: "took",
    title: "Round trips of pings",
    unit: "ms",
    factor: NS_TO_MS,
    style: "dots",
    of: "answers",
  },
  {
    kind: "completions",
    column: "took",
    title: "Distribution of completion times",
    unit: "ms",
    factor: NS_TO_MS,
    style: "shares",
    of: "completions",
  },
];

/** The links of all runs: name and direction, forward ones first of each. */
function links() {
  const found = new Map();
  for (const {link, direction} of streams) {
    if (link !== undefined) found.set(`${link} ${direction}`, {link, direction});
  }
  return [...found.values()];
}

/** @returns {Panel[]} */
function panels() {
  const found = [];
  for (const {link, direction} of links()) {
    const section = direction === "forward" ? link : `${link}, reverse`;
    const here = (stream) => stream.link === link && stream.direction === direction;
    const packets = streams.some((stream) => here(stream) && stream.kind === "packets");
    for (const sort of [...OF_LINKS, ...gauges(here), DISTRIBUTION]) {
      // Samples of a queue count its drops; marks are known where packets were recorded.
      const known = sort.measures && !packets ? {...sort, ...DROPS_ALONE} : sort;
      const mine = (stream) => here(stream) && stream.gauge?.title === sort.gauge;
      const built = panel(known, mine, `${link}-${direction}`);
      if (built.style === "rate" && built.lines.length) built.lines.unshift(...bounds(here));
      found.push({...built, section, link, direction});
    }
  }
  const ofFlows = (stream) => stream.link === undefined;
  for (const sort of [...OF_FLOWS, ...gauges(ofFlows)]) {
    const mine = (stream) => ofFlows(stream) && stream.gauge?.title === sort.gauge;
    found.push({...panel(sort, mine, "flows"), section: "Flows"});
  }
  return found.filter(
    ({lines, style, section}) => lines.length || (style === "events" && section !== "Flows"),
  );
}

function panel(sort, here, where) {
  const kinds = sort.kinds ?? [sort.kind];
  const grouped = new Map();
  streams.forEach((stream, number) => {
    if (!kinds.includes(stream.kind) || !here(stream)) return;
    const {run, kind, flow, name} = stream;
    for (const column of sort.columns ?? [sort.column]) {
      const key = sort.style === "rate" ? `${run} ${flow}` : `${number} ${column}`;
      if (!grouped.has(key)) {
        const measure = sort.style === "events" ? kind : column;
        grouped.set(key, {
          run,
          flow: flow ?? null,
          name,
          measure,
          thin: measure === "ssthresh",
          streams: [],
          rows: 0,
        });
      }
      grouped.get(key).streams.push(number);
      grouped.get(key).rows += stream.rows;
    }
  });
  return {
    ...sort,
    zero: !sort.floating,
    lines: numbered([...grouped.values()].sort((a, b) => a.run - b.run || a.flow - b.flow)),
    id: `${where}-${sort.title.toLowerCase().replaceAll(/[ :]+/g, "-")}`,
  };
}

/** A panel for each gauge of a link's queues, or of flows, whichever runs have it. */
function gauges(here) {
  const told = streams.filter((stream) => stream.gauge && here(stream)).map(({gauge}) => gauge);
  return [...Map.groupBy(told, ({title}) => title).values()].map(([first]) => ({
    ...OF_GAUGES,
    ...first,
    gauge: first.title,
  }));
}

/** Of each run the line that the rates of a link could not exceed. */
function bounds(here) {
  return streams.flatMap((stream, number) => {
    const measure = {capacity: "rate", opportunities: "room"}[stream.kind];
    if (!measure || !here(stream)) return [];
    const {run} = stream;
    return [{run, flow: null, measure, thin: true, bound: true, streams: [number], rows: 0}];
  });
}

/** Lines that are of one flow and measure, as it has several connections, with their numbers. */
function numbered(lines) {
  const alike = Map.groupBy(
    lines,
    ({run, flow, name, measure}) => `${run} ${flow ?? name} ${measure}`,
  );
  for (const connections of alike.values()) {
    if (connections.length > 1)
      connections.forEach((line, n) => {
        line.connection = n + 1;
      });
  }
  return lines;
}

/** Whether a panel has an axis of values that may be logarithmic. */
const hasValueAxis = ({style}) => style !== "events" && style !== "shares";

/** A line's numbers, unpacked when it is first drawn. */
async function load(line, style) {
  if (line.series) return;
  const tables = await Promise.all(line.streams.map(columns));
  if (style === "rate" && line.measure === "rate") {
    const [{time, rate}] = tables;
    line.series = new Held(
      time,
      rate.map((bits) => bits / 8),
    );
  } else if (style === "rate") {
    line.series = new Growth(
      tables.map((table) => ({time: table.time, value: table[line.measure]})),
    );
  } else if (style === "events") {
    line.series = {time: tables[0].time, count: tables[0].count};
  } else {
    const value = tables[0][line.measure];
    if (line.thin)
      value.forEach((number, i) => {
        if (number < 0) value[i] = NaN;
      });
    line.whole = streams[line.streams[0]].whole?.[line.measure];
    line.series =
      style !== "shares"
        ? new Series(tables[0].time, value)
        : line.whole
          ? {value: Float64Array.from(line.whole.quantiles)}
          : {time: tables[0].time, value};
  }
}
