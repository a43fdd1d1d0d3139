// ---- the list of events, folded by call; a graph, nearer and farther ----

const MANY = 200; // events: above it, a call within a call begins folded

/** The button that folds what happens within an event; an empty place where nothing does. */
function caret(number) {
  if (last[number] === number) return element("span", { class: "caret none" });
  const button = element("button", { type: "button", class: "caret", tabindex: "-1", "aria-expanded": "true", "aria-label": "what happens within" });
  button.addEventListener("click", () => setOpen(number, button.getAttribute("aria-expanded") === "false"));
  return button;
}

const isOpen = (number) => carets[number].getAttribute("aria-expanded") === "true";

function setOpen(number, open) {
  carets[number].setAttribute("aria-expanded", String(open));
  for (let inner = number + 1; inner <= last[number]; inner++) {
    rows[inner].parentElement.hidden = !open;
    if (open && last[inner] > inner && !isOpen(inner)) inner = last[inner]; // that stays folded
  }
}

/** Opens all that an event is within. */
function unfold(number) {
  for (let around = events[number].parent; around !== null; around = events[around].parent) {
    if (!isOpen(around)) setOpen(around, true);
  }
}

function foldMany() {
  if (events.length < MANY) return;
  events.forEach((_, number) => { if (depth[number] && last[number] > number) setOpen(number, false); });
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "f" || panel.hidden || event.ctrlKey || event.metaKey || event.altKey || last[at] === at) return;
  setOpen(at, !isOpen(at)); // the search field keeps its own keys
});
