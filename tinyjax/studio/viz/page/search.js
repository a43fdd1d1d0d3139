// ---- search: the lines and events of the shown view that have a text in them ----
// "/" begins, Enter goes to the next and Shift+Enter to the one before, Escape ends.

const field = document.getElementById("search");
const tally = document.getElementById("found");
let matches = [];
let current = -1;

function search() {
  for (const match of matches) match.classList.remove("found", "current");
  const wanted = field.value.trim().toLowerCase();
  const view = document.querySelector("[role=tabpanel]:not([hidden])");
  matches = wanted
    ? [...view.querySelectorAll(".line, .row")].filter((one) => one.textContent.toLowerCase().includes(wanted))
    : [];
  for (const match of matches) match.classList.add("found");
  lightNodes(view, wanted);
  current = -1;
  tally.textContent = wanted ? `${matches.length} found` : "";
}

function goToMatch(step) {
  if (!matches.length) return;
  matches[current]?.classList.remove("current");
  current = current < 0 && step < 0 ? matches.length - 1 : (current + step + matches.length) % matches.length;
  const match = matches[current];
  match.classList.add("current");
  tally.textContent = `${current + 1} of ${matches.length}`;
  document.dispatchEvent(new CustomEvent("sought", { detail: match })); // what is folded unfolds
  if (match.matches(".row")) match.click();
  match.scrollIntoView({ block: "center", inline: "nearest" });
}

field.addEventListener("input", search);
field.addEventListener("keydown", (event) => {
  event.stopPropagation(); // its keys are no moves among steps
  if (event.key === "Enter") goToMatch(event.shiftKey ? -1 : 1);
  if (event.key !== "Escape") return;
  field.value = "";
  search();
  field.blur();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("chosen", search);

// ---- the view that the address names, once all is drawn ----

const named = tabs.find((tab) => `#view=${tab.getAttribute("aria-controls")}` === location.hash);
if (named) choose(named);
