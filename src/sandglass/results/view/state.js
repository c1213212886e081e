// What is in view and what is on, how lines look, and what they are called.
"use strict";

let alike = true;
const state = {
  from: 0,
  to: 0,
  whole: 0,
  cursor: /** @type {number | null} */ (null),
  runsOff: new Set(),
  flowsOff: new Set([0]),
  wayOff: new Set(),
  colourBy: "flow",
};
const theme = {};
const BLACK = "#000000";

/** The colour and the dashes of a line: of its flow, or where runs are told apart, of its run. What
 * is no flow's is as black as text, and so is a bound, which would pass for one of the others. */
function look({run, flow, name, bound}) {
  const byRun = state.colourBy === "run";
  const index = byRun ? run : flow === null ? named.names.indexOf(name) : flow - 1;
  const plain = bound || (!byRun && flow === null && name === undefined);
  const {colours} = content;
  const colour = plain || flow === 0 ? BLACK : colours[Math.max(index, 0) % colours.length];
  const turn = byRun ? 0 : Math.floor(Math.max(index, 0) / colours.length);
  return {
    colour: colour === BLACK ? theme.ink : colour,
    dash: DASHES[(run + turn) % DASHES.length],
  };
}

/** Whether a line is to be seen. */
const visible = ({run, flow}) => !state.runsOff.has(run) && !state.flowsOff.has(flow);

/** What a line is called: its run where there are several, and its flow unless all have but one. */
function named(panel, {run, flow, name, connection, bound}) {
  const parts = runs.length > 1 ? [runs[run].name] : [];
  if (name !== undefined) parts.push(name);
  else if (bound) parts.push("capacity");
  else if (flow === 0) parts.push("no flow");
  else if (flow !== null && !(alike && parts.length)) parts.push(flowName(run, flow));
  if (connection) parts.push(`connection ${connection}`);
  return parts.join(", ") || panel.gauge?.split(": ")[1] || panel.title.toLowerCase();
}
named.names = /** @type {string[]} */ ([]);

/** Sets out from the runs that were taken: all of them in view, from their start to their end. */
function begin() {
  alike = runs.every(({flows}) => flows.length <= 1);
  state.whole = Math.max(...runs.map(({duration}) => duration));
  [state.from, state.to] = [0, state.whole];
  state.colourBy = runs.length > 1 && alike ? "run" : "flow";
  named.names = [...new Set(streams.map(({name}) => name).filter((name) => name !== undefined))];
}

function flowName(run, number) {
  const flow = runs[run].flows.find(({id}) => id === number);
  if (!flow) return String(number);
  return `${number}: ${flow.from} → ${flow.to} ${flow.cc ?? flow.workload}`;
}
