// ---- the stages: columns in which an item lights the related ones ----

const items = []; // all, by their numbers: each knows its column's place, its list and its place there
const boxes = []; // each column's scrolling box
const order = []; // of each column: the numbers of the items that have related ones
const stops = []; // of each column: the item that Tab leads to
const trail = document.querySelector(".trail");
let pinned = null; // the item that stays lit, until Escape or another click
let lit = null;
let lights = []; // [item, class] of what is lit

const WRAPPED = ["traced", "transformed", "groups"];

function drawColumns() {
  const root = document.querySelector(".columns");
  linkItems();
  let next = 0; // the number of the first item of a block
  data.columns.forEach((column, place) => {
    const box = element("div", { class: "scroll" });
    boxes.push(box);
    stops.push(order[place][0]);
    for (const block of column.blocks) {
      box.append(drawBlock(block, column, next, box));
      next += block.items.length;
    }
    if (!column.blocks.length) box.append(element("p", { class: "note" }, column.empty));
    const heading = element("h2", {}, foldButton(column.title));
    const count = element("span", { class: "count" }, column.count);
    const about = element("p", { class: "about", title: column.about }, count, column.about);
    if (place) root.append(divider());
    const made = element("section", { class: `column ${column.name} ${WRAPPED.includes(column.name) ? "jaxpr" : ""}`, "aria-label": column.title }, heading, about, box);
    made.style.setProperty("--longest", Math.max(0, ...order[place].map((id) => items[id].text.length)));
    root.append(made);
  });
}

/** All items in one list. The data has each link once, as runs in the earlier of the two items. */
function linkItems() {
  data.columns.forEach((column, place) => {
    order.push([]);
    for (const item of column.blocks.flatMap((block) => block.items)) items.push({ number: "", ...item, place, related: [] });
  });
  items.forEach((item, id) => {
    for (let i = 0; i < (item.later?.length ?? 0); i += 2) {
      for (let other = item.later[i]; other < item.later[i] + item.later[i + 1]; other++) {
        item.related.push(other);
        items[other].related.push(id);
      }
    }
  });
  items.forEach((item, id) => { if (item.related.length) order[item.place].push(id); });
}

function drawBlock(block, column, first, box) {
  const texts = block.items.map((item) => item.text);
  let python; // a string can go on over several lines: its block is painted as one
  const nodes = (n) => (column.language === "python" ? (python ??= painted(texts, "python"))[n] : paintedItem(texts[n], column.language));
  const list = new LongList(texts.length, (n) => drawItem(first + n, nodes(n)), (n) => `${block.items[n].number ?? ""} ${texts[n]}`);
  block.items.forEach((_, n) => Object.assign(items[first + n], { list, n }));
  list.follow(box);
  const made = element("div", { class: "block" });
  if (block.title) made.append(element("h3", { title: block.title }, block.title));
  if (block.note) made.append(element("p", { class: "note" }, block.note));
  made.append(list.element);
  return made;
}

const paintedItem = (text, language) => painted([text], language).flatMap((line, i) => (i ? ["\n", ...line] : line));

function drawItem(id, nodes) {
  const item = items[id];
  const number = element("span", { class: "number" }, item.number);
  const text = element("span", { class: "text" }, ...nodes);
  hang(text, item.text);
  const parts = item.share === undefined ? [number, text] : [number, meter(item.share), text];
  if (item.gone) parts.push(element("span", { class: "unseen" }, " simplified away"));
  const kind = item.gone ? "line gone" : "line";
  if (!item.related.length) return element("li", { class: kind }, ...parts);
  const line = element("button", { class: kind, tabindex: stops[item.place] === id ? "0" : "-1", type: "button" }, ...parts);
  if (item.gone) line.title = "simplified away: nothing is computed for it";
  line.dataset.item = id;
  return line;
}

const lineOf = (id) => items[id].list.at(items[id].n);
const mark = (id, name, isMarked) => items[id].list.mark(items[id].n, name, isMarked);

function meter(share) {
  const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${100 * share}%`;
  return bar;
}

// ---- light ----

function light(id) {
  if (id === lit) return;
  for (const [other, name] of lights) mark(other, name, false);
  lit = id;
  lights = [];
  if (id === null) return trail.replaceChildren(...hint());
  const close = new Set(boxes.flatMap((_, place) => relatedIn(id, place)));
  lights = [[id, "here"], ...items[id].related.map((other) => [other, close.has(other) ? "related" : "around"])];
  for (const [other, name] of lights) mark(other, name, true);
  trail.replaceChildren(...story(id));
}

/** The item and the related ones in a column; what has many equations inside, such as a group, only if it is alone. */
function relatedIn(id, place) {
  items[id].byPlace ??= boxes.map((_, column) => {
    const all = [id, ...items[id].related].filter((other) => items[other].place === column);
    const narrow = all.filter((other) => !items[other].wide || other === id);
    return (narrow.length ? narrow : all).sort((a, b) => a - b);
  });
  return items[id].byPlace[place];
}

/** In words: the item, and what is related to it in each column. */
function story(id) {
  const links = data.columns.flatMap((column, place) => {
    const own = relatedIn(id, place);
    if (!own.length) return [];
    const here = own.includes(id);
    const shown = items[here ? id : own[0]];
    const one = column.name === "python" ? `line ${shown.number}`
      : column.name === "time" ? shown.number : shown.text.trim().split("\n")[0];
    const many = here || own.length === 1 ? one : `${own.length} ${column.units}`;
    const link = element("button", { type: "button", tabindex: "-1", class: here ? "here" : "" }, many);
    link.addEventListener("click", () => lineOf(own[0]).scrollIntoView({ block: "center", inline: "nearest" }));
    return [link];
  });
  return items[id].gone ? [...links, "→ simplified away"] : links;
}

function hint() {
  return ["Point at a line, or move with Tab and the arrow keys: what it became, and what it is from, lights up. "
    + "Click or Enter keeps it lit; Escape lets go."];
}

/** Brings the related items of all other columns into sight. */
let waiting = 0;
function revealKin(id) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (id !== lit) return;
    boxes.forEach((box, place) => {
      const own = relatedIn(id, place);
      const drawn = own.flatMap((other) => items[other].list.drawn.get(items[other].n) ?? []);
      if (own.includes(id) || drawn.some((line) => isSeen(line, box))) return;
      if (own.length) reveal(lineOf(own[0]), box);
    });
  }, 120);
}

function isSeen(line, box) {
  const inner = line.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}

// ---- pointer and keys ----

function itemAt(target) {
  const line = target instanceof Element ? target.closest(".columns button.line") : null;
  return line ? Number(line.dataset.item) : null;
}

function focusItem(id) {
  const { place } = items[id];
  if (stops[place] !== undefined) lineOf(stops[place]).tabIndex = -1;
  stops[place] = id;
  const line = lineOf(id);
  line.tabIndex = 0;
  line.focus({ preventScroll: true });
  reveal(line, boxes[place]);
}

/** Where a key leads from an item: up and down the column, or aside to the next column with a related one. */
function target(id, key) {
  const { place } = items[id];
  const column = order[place];
  const at = column.indexOf(id);
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: column.length - 1 - at }[key];
  if (step !== undefined) return column[at + step];
  const side = key === "ArrowRight" ? 1 : -1;
  for (let other = place + side; other >= 0 && other < boxes.length; other += side) {
    const [related] = relatedIn(id, other);
    if (related !== undefined) return related;
  }
  return undefined;
}

function startStages() {
  drawColumns();
  takeKeptWidths();
  trail.replaceChildren(...hint());
  const root = document.querySelector(".columns");
  root.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch" || pinned !== null) return;
    const id = itemAt(event.target);
    light(id);
    if (id !== null) revealKin(id);
  });
  root.addEventListener("pointerleave", () => {
    if (pinned === null) light(itemAt(document.activeElement));
  });
  root.addEventListener("focusin", (event) => {
    const id = itemAt(event.target);
    if (id === null) return;
    if (pinned !== null && pinned !== id) pin(null);
    light(id);
    revealKin(id);
  });
  root.addEventListener("click", (event) => {
    const id = itemAt(event.target);
    pin(id === pinned ? null : id);
    light(id);
    if (id !== null) revealKin(id);
  });
  root.addEventListener("keydown", (event) => {
    const id = itemAt(event.target);
    const moves = ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End"];
    if (id === null || !moves.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const other = target(id, event.key);
    if (other !== undefined) focusItem(other);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    pin(null);
    light(null);
  });
}

function pin(id) {
  if (pinned !== null) lineOf(pinned).removeAttribute("aria-pressed");
  pinned = id;
  if (id !== null) lineOf(id).setAttribute("aria-pressed", "true");
}

startStages();
