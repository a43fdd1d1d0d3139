// ---- search: the lines and events of the shown view that have a text in them ----
// "/" begins, Enter goes to the next and Shift+Enter to the one before, Escape ends.

const field = document.getElementById("search");
const tally = document.getElementById("found");
let matches = [];
let current = -1;

/** What a view has, in order: texts, and what marks and shows each. */
function* candidates(view) {
  for (const one of view.querySelectorAll(".long, .line, .row")) {
    const list = longLists.get(one);
    for (let n = 0; n < (list?.count ?? 0); n++) {
      yield { text: list.text(n), mark: (name, isMarked) => list.mark(n, name, isMarked), shown: () => list.at(n) };
    }
    if (!list && !one.closest(".long")) {
      yield { text: one.textContent, mark: (name, isMarked) => one.classList.toggle(name, isMarked), shown: () => one };
    }
  }
}

function search() {
  for (const match of matches) ["found", "current"].forEach((name) => match.mark(name, false));
  const wanted = field.value.trim().toLowerCase();
  const view = document.querySelector("[role=tabpanel]:not([hidden])");
  matches = wanted ? [...candidates(view)].filter((one) => one.text.toLowerCase().includes(wanted)) : [];
  for (const match of matches) match.mark("found", true);
  lightNodes(view, wanted);
  current = -1;
  tally.textContent = wanted ? `${matches.length.toLocaleString("en")} found` : "";
}

function goToMatch(step) {
  if (!matches.length) return;
  matches[current]?.mark("current", false);
  current = current < 0 && step < 0 ? matches.length - 1 : (current + step + matches.length) % matches.length;
  matches[current].mark("current", true);
  tally.textContent = `${current + 1} of ${matches.length}`;
  const match = matches[current].shown();
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

// ---- the view that the address names: once all is drawn, and when the address changes ----

function chooseNamed() {
  const named = tabs.find((tab) => `#view=${tab.getAttribute("aria-controls")}` === location.hash);
  if (named) choose(named);
}

window.addEventListener("hashchange", chooseNamed);
chooseNamed();
