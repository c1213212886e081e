// What can be switched: runs, flows, links.
"use strict";

/** The controls beside the panels, where there is anything to choose. */
function controls() {
  const form = byId("controls");
  if (runs.length > 1) {
    const choice = make(
      "select",
      {
        id: "colour-by",
        onchange: () => {
          state.colourBy = choice.value;
          relook();
        },
      },
      make("option", {value: "flow"}, "flows"),
      make("option", {value: "run"}, "runs"),
    );
    choice.value = state.colourBy;
    form.append(
      make(
        "fieldset",
        {},
        make("legend", {}, "Runs"),
        ...runs.map(({name}, run) =>
          box(name, true, (on) => toggle(state.runsOff, run, on), swatchOf({run, flow: null})),
        ),
        make("label", {class: "choice"}, "Colours are of ", choice),
      ),
    );
  }
  const numbers = [
    ...new Set(streams.map(({flow}) => flow).filter((flow) => flow !== undefined)),
  ].sort((a, b) => a - b);
  if (numbers.length) form.append(flowControls(numbers));
  const ways = [
    ...new Map(
      all.filter(({link}) => link !== undefined).map((panel) => [panel.section, panel]),
    ).values(),
  ];
  if (ways.length) {
    form.append(
      make(
        "fieldset",
        {},
        make("legend", {}, "Links"),
        ...ways.map(({section, direction}) => {
          const on = direction === "forward";
          if (!on) state.wayOff.add(section);
          return box(section, on, (now) => toggle(state.wayOff, section, now));
        }),
      ),
    );
  }
  form.hidden = !form.firstChild;
}

function flowControls(numbers) {
  const entries = numbers.map((flow) => {
    const owners = runs
      .map((_, run) => run)
      .filter((run) => runs[run].flows.some(({id}) => id === flow));
    const names = [...new Set(owners.map((run) => flowName(run, flow)))];
    const label = flow ? names[0] + (names.length > 1 ? " and others" : "") : "no flow";
    const entry = box(
      label,
      !state.flowsOff.has(flow),
      (on) => toggle(state.flowsOff, flow, on),
      swatchOf({run: 0, flow}),
    );
    entry.dataset.flow = flow;
    return {entry, flow, text: names.join(" ").toLowerCase()};
  });
  const found = () => entries.filter(({entry}) => !entry.hidden);
  const set = (on) => {
    for (const {entry, flow} of found()) {
      entry.querySelector("input").checked = on;
      if (on) state.flowsOff.delete(flow);
      else state.flowsOff.add(flow);
    }
    relook();
  };
  const search = make("input", {
    type: "search",
    placeholder: "Find: s1, cubic, …",
    "aria-label": "Find flows",
    oninput: () => {
      for (const {entry, text} of entries)
        entry.hidden = !text.includes(search.value.trim().toLowerCase());
    },
  });
  const buttons = make(
    "div",
    {class: "buttons"},
    make("button", {type: "button", onclick: () => set(true)}, "All"),
    make("button", {type: "button", onclick: () => set(false)}, "None"),
  );
  return make(
    "fieldset",
    {class: "flows"},
    make("legend", {}, "Flows"),
    ...(numbers.length > 8 ? [search] : []),
    ...(numbers.length > 2 ? [buttons] : []),
    make("div", {class: "entries"}, ...entries.map(({entry}) => entry)),
  );
}

function toggle(off, key, on) {
  if (on) off.delete(key);
  else off.add(key);
  relook();
}
