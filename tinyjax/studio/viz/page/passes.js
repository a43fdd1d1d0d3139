// ---- the passes: what each of them changed, and why ----

const passes = data.passes;
let shownPass = null;

const titleOf = (each) => (each.subject ? `${each.name} of ${each.subject}` : each.name);

const isNest = (each) => each.name === "loop nest";

/** A row of the list. A kernel's loop nest is the head of its directives. */
function passButton(each, number) {
  const [label, more] = each.label;
  const name = element("span", { class: "name", title: titleOf(each) }, label, element("span", { class: "more" }, ` ${more}`));
  const changes = element("span", { class: "stage" }, each.events.length ? String(each.events.length) : "");
  const kind = isNest(each) ? "row nest" : each.language === "c" ? "row directive" : "row";
  const row = element("button", { type: "button", role: "option", class: kind, tabindex: "-1" });
  const place = passes.slice(0, number + 1).filter((other) => !isNest(other)).length;
  row.append(element("span", { class: "number" }, isNest(each) ? "" : String(place)), name, changes);
  row.addEventListener("click", () => showPass(number));
  return row;
}

/** A text's nodes, those between backticks as code. */
const withCode = (text) => text.split("`").map((part, n) => (n % 2 ? element("code", {}, part) : part));

/** How many lines a pass has added and removed. */
function countOfLines(each) {
  const count = (sign) => each.lines.filter(([own]) => own === sign).length;
  return count("+") + count("-") ? `${count("+")} new lines, ${count("-")} gone` : "";
}

/** Lines of before and after; + and - stand before them, so that colour alone says nothing. */
function drawDiff(each) {
  const words = { "+": "new: ", "-": "gone: " };
  const line = (n) => {
    const [sign, source] = each.lines[n];
    const kind = { "+": "line new", "-": "line old" }[sign] ?? "line";
    const mark = element("span", { class: "number", "aria-hidden": "true" }, sign);
    const said = words[sign] ? [element("span", { class: "unseen" }, words[sign])] : [];
    const text = element("span", { class: "text" }, ...paintedItem(source, each.language));
    hang(text, source);
    return element("li", { class: kind }, mark, ...said, text);
  };
  const list = new LongList(each.lines.length, line, (n) => each.lines[n][1]);
  list.element.classList.add("diff");
  return each.lines.length ? list : null;
}

/** What the pass decided. */
function drawEvents(each) {
  const parts = ({ about, change, why, sources }) => [about, change, each.texts[why], ...sources.map((n) => each.texts[n])];
  const item = (n) => {
    const [about, change, why, ...sources] = parts(each.events[n]);
    const more = [["why", why], ...sources.map((line) => ["source", line])].filter(([, text]) => text);
    const texts = more.map(([kind, text]) => element("p", { class: kind }, text));
    return element("li", {}, element("code", {}, about), " ", element("span", {}, change), ...texts);
  };
  const list = new LongList(each.events.length, item, (n) => parts(each.events[n]).join(" "), 60);
  list.element.classList.add("decisions");
  return each.events.length ? list : null;
}

/** Puts a list into a pane, or a remark where it is empty. */
function fill(name, list, otherwise) {
  const box = document.querySelector(`#passes .${name} .scroll`);
  box.replaceChildren(list?.element ?? element("p", { class: "note" }, otherwise));
  list?.follow(box);
}

function showPass(number) {
  const rows = [...document.querySelectorAll("#passes .row")];
  if (shownPass !== null) {
    rows[shownPass].classList.remove("here");
    rows[shownPass].setAttribute("aria-selected", "false");
    rows[shownPass].tabIndex = -1;
  }
  shownPass = number;
  rows[number].classList.add("here");
  rows[number].setAttribute("aria-selected", "true");
  rows[number].tabIndex = 0;
  reveal(rows[number], document.querySelector("#passes .list .scroll"));
  const each = passes[number];
  document.querySelector("#passes .changes h2 .title").textContent = titleOf(each);
  document.querySelector("#passes .changes h2 .count").textContent = countOfLines(each);
  document.querySelector("#passes .does").replaceChildren(...withCode(each.does));
  fill("changes", drawDiff(each), "Nothing to change.");
  fill("decided", drawEvents(each), isNest(each) ? "No directive was left out." : "Nothing to decide.");
}

function pane(kind, title, ...inside) {
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, ...inside);
  return element("section", { class: `part ${kind}` }, element("h2", {}, title), box);
}

function startPasses() {
  const root = document.getElementById("passes");
  const list = pane("list", "passes, kernels, directives");
  const rows = passes.map(passButton);
  const box = list.querySelector(".scroll");
  box.removeAttribute("tabindex");
  box.setAttribute("role", "listbox");
  box.append(...rows);
  const changes = pane("changes", "what changed");
  changes.querySelector("h2").replaceChildren(element("span", { class: "title" }), " ", element("span", { class: "count" }));
  changes.querySelector("h2").after(element("p", { class: "does" }));
  root.append(element("div", { class: "panes" }, list, changes, pane("decided", "decisions, and why")));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -passes.length, End: passes.length }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    showPass(Math.min(passes.length - 1, Math.max(0, shownPass + step)));
    rows[shownPass].focus({ preventScroll: true });
  });
  if (passes.length) return showPass(0);
  fill("changes", null, "Nothing to change.");
  fill("decided", null, "Nothing to decide.");
}

startPasses();
