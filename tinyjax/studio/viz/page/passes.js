// ---- the passes: what each of them changed, and why ----

const passes = data.passes;
let shownPass = null;

function passButton(each, number) {
  const whole = each.subject ? `${each.name} of ${each.subject}` : each.name;
  const short = each.subject ? `${each.name} of ${each.subject.split("_")[0]}` : each.name;
  const name = element("span", { class: "name", title: whole }, short);
  const changes = element("span", { class: "stage" }, each.events.length ? String(each.events.length) : "");
  const row = element("button", { type: "button", role: "option", class: "row", tabindex: "-1" });
  row.append(element("span", { class: "number" }, String(number + 1)), name, changes);
  row.addEventListener("click", () => showPass(number));
  return row;
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
  const parts = ({ about, change, why, line }) => ({ about, change, why: each.texts[why], line: each.texts[line] });
  const item = (n) => {
    const { about, change, why, line } = parts(each.events[n]);
    const reason = why ? [element("p", { class: "why" }, why)] : [];
    const source = line ? [element("p", { class: "source" }, line)] : [];
    return element("li", {}, element("code", {}, about), " ", element("span", {}, change), ...reason, ...source);
  };
  const list = new LongList(each.events.length, item, (n) => Object.values(parts(each.events[n])).join(" "), 60);
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
  document.querySelector("#passes .does").textContent = each.does;
  fill("changes", drawDiff(each), "Nothing to change.");
  fill("decided", drawEvents(each), "Nothing to decide.");
}

function pane(kind, title, ...inside) {
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, ...inside);
  return element("section", { class: `part ${kind}` }, element("h2", {}, title), box);
}

function startPasses() {
  const root = document.getElementById("passes");
  const list = pane("list", "passes that change something");
  const rows = passes.map(passButton);
  const box = list.querySelector(".scroll");
  box.removeAttribute("tabindex");
  box.setAttribute("role", "listbox");
  box.append(...rows);
  const changes = pane("changes", "what changed");
  changes.querySelector("h2").append(" ", element("span", { class: "does" }));
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
