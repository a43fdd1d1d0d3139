// ---- the stages: columns in which an item lights its kin ----

const items = []; // those that have kin, by their numbers; each knows its column's place
const lines = []; // the element of each
const boxes = []; // each column's scrolling box
const trail = document.querySelector(".trail");
let pinned = null; // the item that stays lit, until Escape or another click
let lit = null;

const WRAPPED = ["traced", "transformed", "groups"]; // equations are long, and have no lines of their own

function drawColumns() {
  const root = document.querySelector(".columns");
  data.columns.forEach((column, place) => {
    const box = element("div", { class: "scroll" });
    boxes.push(box);
    for (const block of column.blocks) box.append(drawBlock(block, column, place));
    if (!column.blocks.length) box.append(element("p", { class: "note" }, column.empty));
    const heading = element("h2", {}, foldButton(column.title));
    const count = element("span", { class: "count" }, column.count);
    const about = element("p", { class: "about" }, count, column.about);
    if (place) root.append(divider());
    root.append(element("section", { class: `column ${column.name} ${WRAPPED.includes(column.name) ? "jaxpr" : ""}`, "aria-label": column.title }, heading, about, box));
    const first = box.querySelector("button");
    if (first) first.tabIndex = 0;
  });
}

function drawBlock(block, column, place) {
  const list = element("ol", {});
  const texts = painted(block.items.map((item) => item.text), column.language);
  for (const item of block.items) list.append(drawItem(item, texts, place));
  const made = element("div", { class: "block" });
  if (block.title) made.append(element("h3", {}, block.title));
  if (block.note) made.append(element("p", { class: "note" }, block.note));
  made.append(list);
  return made;
}

/** An item, whose lines are the next of the block's. */
function drawItem(item, texts, place) {
  const number = element("span", { class: "number" }, item.number);
  const own = texts.splice(0, item.text.split("\n").length);
  const text = element("span", { class: "text" }, ...own.flatMap((line, i) => (i ? ["\n", ...line] : line)));
  const parts = item.share === null ? [number, text] : [number, meter(item.share), text];
  if (item.gone) parts.push(element("span", { class: "unseen" }, " simplified away"));
  const kind = item.gone ? "line gone" : "line";
  if (!item.kin.length) return element("li", { class: kind }, ...parts);
  const line = element("button", { class: kind, tabindex: "-1", type: "button" }, ...parts);
  if (item.gone) line.title = "simplified away: nothing is computed for it";
  line.dataset.item = item.id;
  lines[item.id] = line;
  items[item.id] = { ...item, place };
  return element("li", {}, line);
}

function meter(share) {
  const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${100 * share}%`;
  return bar;
}

// ---- light ----

function light(id) {
  if (id === lit) return;
  if (lit !== null) {
    lines[lit].classList.remove("here");
    for (const other of items[lit].kin) lines[other].classList.remove("kin", "around");
  }
  lit = id;
  if (id === null) return trail.replaceChildren(...hint());
  lines[id].classList.add("here");
  for (const other of items[id].kin) lines[other].classList.add("around");
  for (const place of boxes.keys()) {
    for (const other of kinIn(id, place)) lines[other].classList.replace("around", "kin");
  }
  trail.replaceChildren(...story(id));
}

/** The item and its kin in a column; what has many equations inside, such as a group, only if it is alone. */
function kinIn(id, place) {
  items[id].byPlace ??= boxes.map((_, column) => {
    const all = [id, ...items[id].kin].filter((other) => items[other].place === column);
    const narrow = all.filter((other) => !items[other].wide || other === id);
    return (narrow.length ? narrow : all).sort((a, b) => a - b);
  });
  return items[id].byPlace[place];
}

/** In words: the item, and what is kin to it in each column. */
function story(id) {
  const links = data.columns.flatMap((column, place) => {
    const own = kinIn(id, place);
    if (!own.length) return [];
    const here = own.includes(id);
    const shown = items[here ? id : own[0]];
    const one = column.name === "python" ? `line ${shown.number}`
      : column.name === "time" ? shown.number : shown.text.trim().split("\n")[0];
    const many = here || own.length === 1 ? one : `${own.length} ${column.units}`;
    const link = element("button", { type: "button", tabindex: "-1", class: here ? "here" : "" }, many);
    link.addEventListener("click", () => lines[own[0]].scrollIntoView({ block: "center", inline: "nearest" }));
    return [link];
  });
  return items[id].gone ? [...links, "→ simplified away"] : links;
}

function hint() {
  return ["Point at a line, or move with Tab and the arrow keys: what it became, and what it is from, lights up. "
    + "Click or Enter keeps it lit; Escape lets go."];
}

/** Brings the kin in all other columns into sight. */
let waiting = 0;
function revealKin(id) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (id !== lit) return;
    boxes.forEach((box, place) => {
      const own = kinIn(id, place);
      if (own.includes(id) || own.some((other) => isSeen(lines[other], box))) return;
      if (own.length) reveal(lines[own[0]], box);
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
  const box = boxes[items[id].place];
  for (const other of box.querySelectorAll("button[tabindex='0']")) other.tabIndex = -1;
  lines[id].tabIndex = 0;
  lines[id].focus({ preventScroll: true });
  reveal(lines[id], box);
}

/** Where a key leads from an item: up and down the column, or aside to the next column with kin. */
function target(id, key) {
  const { place } = items[id];
  const column = items.filter((item) => item.place === place).map((item) => item.id);
  const at = column.indexOf(id);
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: column.length - 1 - at }[key];
  if (step !== undefined) return column[at + step];
  const side = key === "ArrowRight" ? 1 : -1;
  for (let other = place + side; other >= 0 && other < boxes.length; other += side) {
    const [kin] = kinIn(id, other);
    if (kin !== undefined) return kin;
  }
  return undefined;
}

function startStages() {
  drawColumns();
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
  if (pinned !== null) lines[pinned].removeAttribute("aria-pressed");
  pinned = id;
  if (id !== null) lines[id].setAttribute("aria-pressed", "true");
}

startStages();
