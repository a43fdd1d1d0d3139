// ---- the columns' widths: folded by their titles, dragged by the bars between them, and remembered ----

/** A title that folds its column into a strip, and unfolds it. */
function foldButton(title) {
  const button = element("button", { type: "button", class: "fold", "aria-expanded": "true", title: "fold or unfold" }, title);
  button.addEventListener("click", () => setFolded(button.closest(".column"), button.getAttribute("aria-expanded") === "true"));
  return button;
}

function setFolded(column, folded) {
  column.classList.toggle("folded", folded);
  column.querySelector(".fold").setAttribute("aria-expanded", String(!folded));
}

/** A bar between two columns: a drag, or the arrow keys, give one what the other loses. */
function divider() {
  const bar = element("div", {
    role: "separator", class: "divider", tabindex: "0", "aria-orientation": "vertical", "aria-label": "Width of the columns beside",
  });
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) widen(bar, event.movementX);
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    widen(bar, step);
  });
  return bar;
}

const NARROWEST = 60; // pixels

function widen(bar, pixels) {
  const [left, right] = [bar.previousElementSibling, bar.nextElementSibling];
  if (left.matches(".folded") || right.matches(".folded")) return;
  const widths = [left.offsetWidth + pixels, right.offsetWidth - pixels];
  if (Math.min(...widths) < NARROWEST) return;
  const each = left.offsetWidth + right.offsetWidth;
  const grow = Number(getComputedStyle(left).flexGrow) + Number(getComputedStyle(right).flexGrow);
  [left, right].forEach((column, i) => { column.style.flexGrow = String((grow * widths[i]) / each); });
  keepWidths();
  sayShares();
}

/** Sets the value of each divider: the share of the left one of the two columns beside it, in percent. */
function sayShares() {
  for (const bar of document.querySelectorAll(".divider")) {
    const columns = [bar.previousElementSibling, bar.nextElementSibling];
    const [left, right] = columns.map((column) => Number(getComputedStyle(column).flexGrow));
    bar.setAttribute("aria-valuenow", String(Math.round((100 * left) / (left + right))));
  }
}

const KEPT = "tinyjax.explain.widths"; // in the browser: of each column, its share

/** The columns by their names. */
const columnsShown = () => [...document.querySelectorAll(".column")].map((column, place) => [data.columns[place].name, column]);

function keepWidths() {
  const shares = columnsShown().map(([name, column]) => [name, Number(getComputedStyle(column).flexGrow)]);
  try {
    localStorage.setItem(KEPT, JSON.stringify({ ...keptWidths(), ...Object.fromEntries(shares) }));
  } catch { /* a frame without storage, as in a notebook, has its widths until it is closed */ }
}

function keptWidths() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

function takeKeptWidths() {
  const kept = keptWidths();
  for (const [name, column] of columnsShown()) if (kept[name] > 0) column.style.flexGrow = String(kept[name]);
  sayShares();
}

document.addEventListener("sought", (event) => {
  const column = event.detail.closest(".column.folded");
  if (column) setFolded(column, false);
});
