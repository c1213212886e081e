// Panels as elements of the page.
"use strict";

/** Builds a panel: heading, switch of its axis, canvas with its cursor, readings, table. */
function build(panel) {
  panel.about = make("small", {});
  const title = make("h3", {}, panel.title, " ", panel.about);
  panel.canvas = make("canvas", {role: "img", "aria-label": panel.title, tabindex: "0"});
  panel.canvas.className = panel.style === "shares" ? "shares" : panel.gauge ? "gauge" : "";
  if (panel.style === "events") {
    const lanes = panel.kinds.length * runs.length;
    panel.canvas.style.height = `${TOP + BOTTOM + lanes * (runs.length > 1 ? 15 : 24)}px`;
  }
  panel.context = panel.canvas.getContext("2d");
  panel.line = make("div", {class: "cursor", hidden: true});
  panel.band = make("div", {class: "band", hidden: true});
  panel.heading = make(
    "p",
    {class: "heading"},
    make("span", {}),
    ...(panel.measures ?? []).map((name) => make("b", {}, name)),
  );
  panel.nothing = make("p", {class: "nothing", hidden: true}, "none");
  panel.list = make("ul", {
    "aria-label": `Readings of ${panel.title}`,
    class: panel.measures ? "several" : "",
  });
  listed(panel);
  panel.table = make("table", {});
  panel.details = make(
    "details",
    {ontoggle: () => tabulate(panel)},
    make("summary", {}, "Numbers"),
    make(
      "div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${panel.title}`},
      panel.table,
    ),
  );
  panel.element = make(
    "section",
    {class: `panel ${panel.style}`, id: panel.id, "aria-label": panel.title},
    title,
    ...(hasValueAxis(panel) ? [axisSwitch(panel)] : []),
    make("div", {class: "plot"}, panel.canvas, panel.band, panel.line),
    make("div", {class: "readings"}, panel.heading, panel.list, panel.nothing),
    panel.details,
  );
  panel.pointer = null;
  panel.width = panel.height = 0;
  if (panel.style === "shares") pointAtValues(panel);
  else gestures(panel);
  return panel.element;
}

/** Builds the readings of a panel's lines, in the place of those before. */
function listed(panel) {
  panel.rows = [];
  panel.list.replaceChildren();
  for (const [of, lines] of Map.groupBy(
    panel.lines,
    ({run, flow, name, streams: [stream]}) =>
      `${run} ${flow ?? name} ${panel.style === "events" ? "" : stream}`,
  )) {
    panel.list.append(readingsRow(panel, of, lines));
  }
}

/** The button that makes a panel's axis logarithmic. */
function axisSwitch(panel) {
  panel.switch = make(
    "button",
    {
      type: "button",
      class: "axis",
      title: "Logarithmic axis (l)",
      "aria-label": "Logarithmic axis",
      "aria-pressed": "false",
      onclick: () => setLogarithmic([panel], !panel.log),
    },
    "log",
  );
  return panel.switch;
}

/** The readings of a flow or run: a value for each of the panel's measures, or the only one. */
function readingsRow(panel, key, lines) {
  const swatch = make("i", {class: lines.every(({thin}) => thin) ? "thin" : ""});
  const outputs = (panel.measures ?? [null]).map(() => make("span", {class: "value"}));
  const row = make(
    "li",
    {},
    swatch,
    make("span", {title: named(panel, lines[0])}, named(panel, lines[0])),
    ...outputs,
  );
  row.dataset.flow = lines[0].flow ?? "";
  row.dataset.run = lines[0].run;
  const cells = lines.map((line) => ({
    line,
    output: outputs[panel.measures ? panel.measures.indexOf(line.measure) : 0],
  }));
  panel.rows.push({row, swatch, outputs, cells});
  return row;
}
