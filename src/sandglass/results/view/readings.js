// What the panels say in numbers: beside each, at the cursor or over the view, and in its table.
"use strict";

const REACH = 8; // pixels from the cursor within which a point is read

/** A line's value at a time, with whether it is one record's own, and so exact. */
function reading(panel, line, t) {
  const {series, run} = line;
  if (t < 0 || t > runs[run].duration) return {value: null};
  if (panel.style === "rate") {
    const [from, to] = around(panel, run, t);
    return {value: series.rate(from, to) * panel.factor};
  }
  if (panel.style === "events") {
    const [from, to] = around(panel, run, t);
    return {value: count(series, from, to), exact: true};
  }
  const at = panel.style === "dots" ? nearest(panel, series, t) : series.before(t);
  if (at < 0 || (panel.style === "step" && t > ending(line))) return {value: null};
  return {value: series.value[at] * panel.factor, exact: !dense(panel, series.time)};
}

/** The point that is nearest to a time; -1 where none is near. */
function nearest(panel, {time}, t) {
  const next = lower(time, t);
  const at = next > 0 && !(time[next] - t < t - time[next - 1]) ? next - 1 : next;
  return Math.abs(pixelOf(panel, time[at]) - pixelOf(panel, t)) <= REACH ? at : -1;
}

/** The interval of a panel that `t` is in. */
function around(panel, run, t) {
  const length = interval(panel);
  const from = Math.floor(t / length) * length;
  return [from, Math.min(from + length, Math.max(runs[run].duration, from + 1))];
}

/** A stretch of time extended to where amounts are exact: see `interval`. */
function known(from, to, run) {
  const step = content.interval;
  if (!step) return [from, to];
  return [
    Math.floor(from / step) * step,
    Math.min(Math.ceil(to / step) * step, runs[run].duration),
  ];
}

/** How many events there are from `from` to before `to`. */
function count({time, count}, from, to) {
  const first = lower(time, from);
  const end = lower(time, to, first);
  if (!count) return end - first;
  let sum = 0;
  for (let i = first; i < end; i++) sum += count[i];
  return sum;
}

/** A line in view as numbers: see `summary`; of events their count alone. */
function numbers(panel, line) {
  const {series, run} = line;
  const {factor} = panel;
  if (panel.style === "events") return {n: count(series, state.from, state.to + 1)};
  let found = line.whole;
  if (found) {
    // Of records that are not all here: see thinning.py.
  } else if (panel.style === "rate") {
    const rates = [...intervals(panel, run)].map(([from, to]) => series.rate(from, to));
    found = summary(Float64Array.from(rates));
  } else if (panel.style === "step") {
    found = overTime(series, Math.min(state.to, ending(line)));
  } else {
    found = summary(within(series));
  }
  if (!found) return null;
  const {n, least, mean, p95, greatest} = found;
  return {
    n,
    least: least * factor,
    mean: mean * factor,
    p95: p95 * factor,
    greatest: greatest * factor,
  };
}

/** A step function from the view's begin to `end`, each value by how long it was held. */
function overTime({time, value}, end) {
  const first = Math.max(0, lower(time, state.from + 1) - 1);
  const last = lower(time, end, first);
  const held = new Float64Array(Math.max(0, last - first));
  for (let i = first; i < last; i++) {
    held[i - first] = Math.min(time[i + 1] ?? end, end) - Math.max(time[i], state.from);
  }
  return weighted(value.subarray(first, last), held);
}

/** The mean over the view, or the count of events: what stands beside a panel without a cursor. */
function brief(panel, line) {
  const {series, run} = line;
  if (line.whole) return line.whole.mean * panel.factor;
  if (panel.style === "events") return count(series, state.from, state.to + 1);
  if (panel.style === "rate") {
    const [from, end] = known(state.from, Math.min(state.to, runs[run].duration), run);
    return end > from ? series.rate(from, end) * panel.factor : null;
  }
  if (panel.style === "step" || panel.style === "dots") {
    const first = lower(series.time, state.from);
    const mean =
      panel.style === "step"
        ? series.meanOverTime(state.from, Math.min(state.to, ending(line)))
        : series.mean(first, lower(series.time, state.to + 1, first));
    return mean === null ? null : mean * panel.factor;
  }
  const values = within(series);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return values.length ? (sum / values.length) * panel.factor : null;
}

/** The part of a distribution that is at most `value`, in the panel's unit. */
function share(panel, line, value) {
  const values = sortedWithin(line);
  return values.length ? lower(values, value / panel.factor + 1e-9) / values.length : null;
}

/** Says what the readings of a panel are. */
function head(panel, text) {
  panel.heading.firstChild.textContent = text;
}

/** Writes the readings of a panel: at the cursor, or over the view. */
function read(panel) {
  const at = state.cursor;
  const own = panel.pointer; // a value on the axis of a distribution
  const shares = panel.style === "shares";
  const pointed = shares ? own !== null : at !== null;
  const events = panel.style === "events";
  if (!pointed)
    head(panel, events ? "in view" : wholly(panel) ? "mean of the run" : "mean in view");
  else if (shares) head(panel, `share up to ${shown(own)} ${panel.unit}`);
  else if (events || panel.style === "rate") head(panel, `within ${lasting(interval(panel))}`);
  else head(panel, "at the cursor");
  for (const {row, outputs, cells} of panel.rows) {
    row.hidden = !visible(cells[0].line);
    if (row.hidden) continue;
    for (const output of outputs) output.textContent = events ? "0" : "–";
    for (const {line, output} of cells) {
      if (!line.series) continue;
      if (shares && pointed) output.textContent = percent(share(panel, line, own));
      else {
        const {value, exact} = pointed
          ? reading(panel, line, at)
          : {value: brief(panel, line), exact: events};
        output.textContent = shown(value, exact);
      }
    }
  }
  panel.nothing.hidden = panel.rows.some(({row}) => !row.hidden);
}

/** What a panel shows, and in what unit, if it has one. */
const titled = ({title, unit}) => [title, unit].filter(Boolean).join(", ");

/** The same, and how it is drawn. */
const drawnAs = (panel) => titled(panel) + (panel.log ? `, ${LOGARITHMIC}` : "");

/** The readings of a panel, in words. */
function spoken(panel) {
  const told = panel.rows
    .filter(({row}) => !row.hidden)
    .slice(0, TOLD)
    .map(({cells, outputs}) => {
      const values = outputs.map(({textContent}, n) =>
        [panel.measures?.[n], textContent].filter(Boolean).join(" "),
      );
      return `${named(panel, cells[0].line)}: ${values.join(", ")}`;
    });
  return `${drawnAs(panel)}: ${told.join("; ") || "none"}`;
}

function percent(part) {
  return part === null ? "–" : `${(100 * part).toFixed(2)} %`;
}

const TOLD = 10; // lines whose means are part of a panel's description
const HEADS = ["line", "n", "min", "mean", "p95", "max"];

/** Fills the table of a panel, unless it is closed. */
function tabulate(panel) {
  if (!panel.details.open) return;
  const events = panel.style === "events";
  const head = make(
    "tr",
    {},
    ...HEADS.slice(0, events ? 2 : 6).map((name) => make("th", {scope: "col"}, name)),
  );
  const body = panel.lines
    .filter((line) => line.series && visible(line))
    .map((line) => {
      const found = numbers(panel, line);
      const cells = events
        ? [found.n]
        : ["n", "least", "mean", "p95", "greatest"].map((name) => found?.[name]);
      const measure = panel.measures ? `, ${line.measure}` : "";
      return make(
        "tr",
        {},
        make("th", {scope: "row"}, named(panel, line) + measure),
        ...cells.map((value, i) => make("td", {}, i ? shown(value) : grouped(String(value ?? 0)))),
      );
    });
  panel.table.replaceChildren(
    make("caption", {}, `${titled(panel)}; ${over(panel)}`),
    make("thead", {}, head),
    make("tbody", {}, ...body),
  );
}

/** Whether a panel's numbers are of the whole run, whatever is in view. */
function wholly(panel) {
  return panel.lines.some(
    ({series, whole}) => whole || (series && panel.style === "shares" && !series.time),
  );
}

/** What is in view, in words. */
function inView() {
  const {from, to} = state;
  const fine = (to - from) / 1e3;
  return `${seconds(from, fine)} to ${seconds(to, fine)} s`;
}

/** Over what the numbers of a panel are. */
function over(panel) {
  const view = wholly(panel) ? "the whole run" : inView();
  const what = panel.style === "rate" ? `intervals of ${lasting(interval(panel))}` : panel.of;
  return panel.style === "events" ? view : `over ${what}, ${view}`;
}

/** What a canvas shows, in words. */
function described(panel) {
  const lines = panel.lines.filter((line) => line.series && visible(line));
  const told = lines.slice(0, TOLD).map((line) => {
    const measure = panel.measures ? `, ${line.measure}` : "";
    return `${named(panel, line)}${measure}: ${shown(brief(panel, line))}`;
  });
  if (lines.length > TOLD) told.push(`and ${lines.length - TOLD} more`);
  const about = panel.style === "events" ? "count" : "mean";
  const means = told.length ? `${about} of ${told.join("; ")}` : "No lines";
  return `${drawnAs(panel)}, ${over(panel)}. ${means}.`;
}
