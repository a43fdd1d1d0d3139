// ---- the steps: one event after the other, and all that is known of it ----

const steps = data.steps;
const events = steps.events;
const panel = document.getElementById("steps");
let at = 0; // the number of the event that is shown

// What follows from the events, found once: how deep each is, where its last descendant is, who made a value.
const depth = events.map(() => 0);
const last = events.map((_, number) => number);
const maker = new Map();
events.forEach((event, number) => {
  if (event.parent !== null) depth[number] = depth[event.parent] + 1;
  for (const [value] of event.results) {
    const { id, kind } = steps.values[value];
    if (kind !== "other") maker.set(id, number); // events within come later: the one that made it itself
  }
});
for (let number = events.length - 1; number >= 0; number--) {
  const parent = events[number].parent;
  if (parent !== null) last[parent] = Math.max(last[parent], last[number]);
}

/** The next event that is not within this one, or the last one. */
const following = (number) => Math.min(last[number] + 1, events.length - 1);

function part(title, name, ...children) {
  const heading = element("h2", {}, title, ...(name === "graph" ? zoomButtons() : []));
  return element("section", { class: `part ${name}`, "aria-label": title }, heading, ...children);
}

// ---- the page ----

const MOVES = [
  ["first", "Home", "first", () => 0],
  ["previous", "ArrowLeft", "← previous", () => at - 1],
  ["into", "ArrowRight", "into →", () => at + 1],
  ["next", "ArrowDown", "next ↓", () => following(at)],
  ["out", "ArrowUp", "out ↑", () => events[at].parent ?? at],
  ["last", "End", "last", () => events.length - 1],
];
const TITLES = {
  first: "the first event (Home)", previous: "the event before (left arrow)",
  into: "the first event within this one, or if there is none, the next (right arrow)",
  next: "the next event after all that happens within this one (down arrow)",
  out: "the event within which this one happens (up arrow)", last: "the last event (End)",
};

const slider = element("input", { type: "range", min: 0, max: Math.max(0, events.length - 1), value: 0, "aria-label": "event" });
const count = element("output", { class: "place" });
const path = element("p", { class: "path" });
const about = element("p", { class: "what" });
const rows = [];
const carets = [];
const list = element("ol", {});
const program = element("div", { class: "scroll", tabindex: "0" });
const rule = element("div", { class: "scroll", tabindex: "0" });
const operands = element("div", { class: "scroll" });
const stack = element("ol", { class: "stack" });
const graph = element("div", { class: "scroll graph-box" });
const listBox = element("div", { class: "scroll" }, list);

function drawSteps() {
  const buttons = MOVES.map(([name, , label, target]) => {
    const button = element("button", { type: "button", class: `move ${name}`, title: TITLES[name] }, label);
    button.addEventListener("click", () => go(target()));
    return button;
  });
  const bar = element("div", { class: "bar", role: "group", "aria-label": "Move in time" }, ...buttons, slider, count);
  const head = element("div", { class: "head", role: "status" }, path, about);
  events.forEach((event, number) => {
    const stage = element("span", { class: "stage" }, event.stage);
    const row = element("button", { type: "button", class: `row s-${event.stage.replaceAll(" ", "-")}`, tabindex: "-1" },
      element("span", { class: "number" }, String(number)), stage, element("span", { class: "name" }, event.name));
    stage.style.marginLeft = `${10 * Math.min(depth[number], 12)}px`;
    row.addEventListener("click", () => go(number));
    rows.push(row);
    carets.push(caret(number));
    list.append(element("li", {}, carets[number], row));
  });
  if (steps.missed) list.append(element("li", { class: "note" }, `${steps.missed} more events were left out`));
  foldMany();
  drawGraph();
  moveAbout(graph, currentView);
  panel.append(bar, head, element("div", { class: "parts" },
    part("Events", "events", listBox),
    part("Your program", "program", program),
    part("Rule", "rule", rule),
    element("div", { class: "aside" },
      part("Values", "values", operands),
      part("Trace stack", "traces", stack)),
    part("What was computed", "graph", graph)));
}

// ---- one event ----

function go(number) {
  number = Math.max(0, Math.min(number, events.length - 1));
  const event = events[number];
  rows[at].classList.remove("here");
  rows[at].removeAttribute("aria-current");
  rows[at].tabIndex = -1;
  at = number;
  rows[at].classList.add("here");
  rows[at].setAttribute("aria-current", "step");
  rows[at].tabIndex = 0;
  unfold(at);
  reveal(rows[at], listBox);
  slider.value = at;
  slider.setAttribute("aria-valuetext", `event ${at} of 0 to ${events.length - 1}: ${event.stage} ${event.name}`);
  count.textContent = `${at} / ${events.length - 1}`;
  showPath(event);
  showSource(program, event.line, "This happens before or after your program's lines.");
  showSource(rule, event.rule, "No rule is applied here.");
  showValues(event);
  showStack(event);
  showGraph();
}

/** The events around this one, from the outermost. */
function showPath(event) {
  const around = [];
  for (let number = event.parent; number !== null; number = events[number].parent) around.unshift(number);
  const links = around.map((number) => {
    const link = element("button", { type: "button" }, `${events[number].stage} ${events[number].name}`);
    link.addEventListener("click", () => go(number));
    return link;
  });
  path.replaceChildren(...links, element("strong", {}, `${event.stage} ${event.name}`));
  about.replaceChildren(event.error ? element("span", { class: "error" }, `raised ${event.error}`) : steps.stages[event.stage]);
}

const listings = new Map([[program, new Map()], [rule, new Map()]]); // the functions that each box has shown

function listing(box, number) {
  const known = listings.get(box);
  if (!known.has(number)) {
    const source = steps.sources[number];
    const shown = painted(source.lines, "python").map((nodes, i) => {
      const text = element("span", { class: "text" }, ...nodes);
      hang(text, source.lines[i]);
      return element("li", { class: "line" }, element("span", { class: "number" }, String(source.first + i)), text);
    });
    const heading = element("h3", {}, `${source.file}: ${source.name}`);
    known.set(number, { block: element("div", { class: "block" }, heading, element("ol", {}, ...shown)), shown });
  }
  return known.get(number);
}

/** A function, with the line of a place lit; without a place, a note. */
function showSource(box, place, otherwise) {
  const before = box.querySelector(".line.here");
  before?.classList.remove("here");
  before?.removeAttribute("aria-current");
  if (place === null) {
    box.replaceChildren(element("p", { class: "note" }, otherwise));
    return;
  }
  const { source, line } = steps.places[place];
  const { block, shown } = listing(box, source);
  if (box.firstChild !== block) box.replaceChildren(block);
  const lit = shown[line - steps.sources[source].first];
  if (!lit) return;
  lit.classList.add("here");
  lit.setAttribute("aria-current", "location");
  reveal(lit, box);
}

function showValues(event) {
  const table = element("table", {}, element("tbody", {},
    ...event.operands.map((value, i) => valueRow(i ? "" : "operands", value)),
    ...event.results.map((value, i) => valueRow(i ? "" : "results", value, true)),
    ...Object.entries(event.params).map(([name, text], i) =>
      element("tr", { class: "param" }, element("th", { scope: "row" }, i ? "" : "parameters"),
        element("td", { colspan: 2 }, `${name} = ${text}`)))));
  const nothing = !event.operands.length && !event.results.length && !Object.keys(event.params).length;
  operands.replaceChildren(nothing ? element("p", { class: "note" }, "No values.") : table);
}

/** A value with its type and what it is to the rule, and a way to the event that made it. */
function valueRow(heading, [number, role], isResult = false) {
  const value = steps.values[number];
  const made = maker.get(value.id);
  const typed = element("span", { class: "type" }, value.aval && value.text ? `:${value.aval}` : value.aval);
  const cell = element("td", {}, element("code", {}, value.text, typed));
  if (role) cell.append(element("span", { class: "role" }, role));
  const [picture, summary] = value.picture;
  if (summary) cell.append(element("div", { class: "summary" }, ...(picture ? [thumbnail(picture)] : []), summary));
  const from = element("td", { class: "from" });
  if (made !== undefined && made !== at && !isResult) {
    const link = element("button", { type: "button", title: `${events[made].stage} ${events[made].name}` }, `from ${made}`);
    link.addEventListener("click", () => go(made));
    from.append(link);
  }
  return element("tr", {}, element("th", { scope: "row" }, heading), cell, from);
}

/** A heat map of a value: orange below 0, blue above. Its cells are squares of whole pixels. */
function thumbnail(source) {
  const image = element("img", { src: source, alt: "" });
  image.addEventListener("load", () => { image.width = image.naturalWidth * Math.max(1, Math.min(8, Math.floor(96 / image.naturalWidth))); });
  return image;
}

/** The innermost trace, which is asked first, at the top. */
function showStack(event) {
  const names = [...steps.stacks[event.stack]].reverse();
  stack.replaceChildren(...names.map((name, i) => element("li", { class: i ? "" : "here" },
    element("code", {}, name), ...(i ? [] : [element("span", { class: "note" }, steps.traces[name])]))));
}

// ---- the graph, in parts if it is large ----

const nodes = new Map(); // the SVG's group of each event that has one
const arrows = new Map(); // the groups of the arrows that end there
const partOf = new Map(); // the part of the graph that it is in
const drawings = []; // the parts
const views = []; // what moves about in each
const SMALLEST = 0.6; // to fit into the box a picture is made smaller, as long as it can be read
let drawnUpTo = -1; // events after this one are pale
let litNodes = [];

function drawGraph() {
  if (steps.graphRemark) graph.append(element("p", { class: "note" }, steps.graphRemark));
  steps.graph.forEach((text, number) => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "What was computed from what");
    views.push(graphView(svg, SMALLEST));
    const remark = `part ${number + 1} of ${steps.graph.length}`;
    const drawing = element("div", {}, ...(steps.graph.length > 1 ? [element("p", { class: "note" }, remark)] : []), svg);
    drawing.hidden = number > 0;
    drawings.push(drawing);
    graph.append(drawing);
    for (const node of svg.querySelectorAll("[id^=event-]")) drawNode(svg, node, number);
  });
}

const currentView = () => views[drawings.findIndex((drawing) => !drawing.hidden)];

function zoomButtons() {
  const button = (sign, key, name) => {
    const made = element("button", { type: "button", class: "zoom", "aria-label": name, title: `${name} (${key})` }, sign);
    made.addEventListener("click", () => currentView() && GRAPH_KEYS[key](currentView()));
    return made;
  };
  return [button("+", "+", "nearer"), button("−", "-", "farther"), button("fit", "0", "fit: show all of it")];
}

function drawNode(svg, node, place) {
  const number = Number(node.id.slice("event-".length));
  nodes.set(number, node);
  partOf.set(number, place);
  arrows.set(number, [...svg.querySelectorAll(`.to-${number}`)]);
  for (const drawn of [node, ...arrows.get(number)]) drawn.classList.add("later");
  node.addEventListener("click", () => go(number));
}

function showGraph() {
  const [from, to] = [Math.min(drawnUpTo, at), Math.max(drawnUpTo, at)];
  for (let number = from + 1; number <= to; number++) {
    if (!nodes.has(number)) continue;
    for (const drawn of [nodes.get(number), ...arrows.get(number)]) drawn.classList.toggle("later", number > at);
  }
  drawnUpTo = at;
  for (const node of litNodes) node.classList.remove("lit", "within");
  litNodes = [];
  let near = at; // within which an event of the graph happens: a type check has no node of its own
  while (near !== null && !nodes.has(near) && last[near] === near) near = events[near].parent;
  if (near === null) return;
  for (let number = near; number <= last[near]; number++) {
    const node = nodes.get(number);
    if (!node) continue;
    if (!litNodes.length) showPart(partOf.get(number));
    node.classList.add(number === near ? "lit" : "within");
    litNodes.push(node);
  }
  if (litNodes.length) currentView().reveal(litNodes[0]);
}

function showPart(place) {
  drawings.forEach((drawing, number) => {
    if (drawing.hidden !== (number !== place)) drawing.hidden = number !== place;
  });
  views[place].refresh();
}

// ---- keys and the slider ----

function startSteps() {
  if (!events.length) {
    panel.append(element("p", { class: "note" }, 
      "No operation of tinyjax was called: Python or NumPy computed it all. Call the function with arrays, such as "
      + "jnp.array(3.0), or name a transformation."));
    return;
  }
  drawSteps();
  go(0);
  slider.addEventListener("input", () => go(Number(slider.value)));
  document.addEventListener("keydown", (event) => {
    const isFree = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if (panel.hidden || !isFree || event.target.closest("[role=tab], [role=separator]")) return;
    const move = MOVES.find(([, key]) => key === event.key);
    if (!move) return;
    event.preventDefault();
    go(move[3]());
    if (rows.includes(document.activeElement)) rows[at].focus({ preventScroll: true });
  });
}

let started = false;
document.addEventListener("chosen", (event) => {
  if (event.detail !== "steps" || started) return;
  started = true;
  startSteps();
});
