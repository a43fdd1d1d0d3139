// The playground: a function of the reader's own, stage by stage, as `tinyjax explain --live` shows it.

import { note, printingIn, reveal } from "./notes.js";
import { Program } from "./editor.js";
import { Python } from "./python.js";
import { stagesIn } from "./stages.js";

const MOST = 8000; // characters that a link may carry
const STALE = "Below is still the page of your program before this error.";
const root = document.getElementById("playground");
const [form, output, frame, shared] = ["form", ".output", "#stages", "#shared"].map((name) => root.querySelector(name));
const [state, runs] = [".state", ".run"].map((name) => form.querySelector(name));
const fields = Object.fromEntries(["function", "args", "transforms"].map((name) => [name, form.querySelector(`#${name}`)]));
const live = form.querySelector("#live");

const python = new Python((line) => (state.textContent = line));
let began = 0, running = false, again = false, follows = false, waiting = null;
const put = stagesIn(frame);

const fragment = readLink(location.hash);
const program = new Program(root.querySelector(".program"), fragment ? null : "playground", { run: press, changed: follow });

// ---- showing ----

/** A press of Show, or its keys: the answer is scrolled into view. */
async function press() {
  await show();
  reveal(output.hasChildNodes() ? output : frame);
}

async function show() {
  if (running) return performance.now() - began > 500 && python.stop(); // sooner, it is a double click
  began = performance.now();
  running = true;
  follows = true;
  runs.textContent = "Stop";
  state.textContent = "...";
  const printed = document.createElement("pre");
  output.replaceChildren(printed);
  try {
    const found = await python.call("explain", { text: program.text, ...values() }, printingIn(printed));
    state.textContent = found.stages?.summary ?? "";
    if (found.error) fail(found);
    else {
      frame.classList.remove("stale");
      put(found.stages, frame.hidden ? "" : frame.contentWindow.location.hash);
    }
  } catch (error) {
    again = false;
    state.textContent = "";
    fail({ error: error.message });
  } finally {
    if (!printed.textContent) printed.remove();
    running = false;
    runs.textContent = "Show";
    if (again) follow();
    again = false;
  }
}

/** Show an error. A page that an earlier program made stays, and says so. */
function fail({ error, frames }) {
  output.append(note(error, frames));
  frame.classList.add("stale");
  if (!frame.hidden) output.append(Object.assign(document.createElement("p"), { className: "stale", textContent: STALE }));
}

/** After the first Show, show again soon after a change. */
function follow() {
  clearTimeout(waiting);
  if (!follows || !live.checked) return;
  if (running) again = true;
  else waiting = setTimeout(() => running || show(), 700);
}

function values() {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
}

// ---- links ----

/** What a link's fragment carries: texts, or null if it carries nothing that could be one. */
function readLink(hash) {
  const found = /^#program=([\w-]*)$/.exec(hash);
  if (!found || found[1].length > MOST * 2) return null;
  try {
    const bytes = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const texts = [read.text, read.function, read.args, read.transforms];
    return texts.every((text) => typeof text === "string" && text.length <= MOST) ? read : null;
  } catch {
    return null;
  }
}

function writeLink() {
  const bytes = new TextEncoder().encode(JSON.stringify({ text: program.text, ...values() }));
  const code = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return code.length > MOST * 2 ? "" : `${location.href.split("#")[0]}#program=${code}`;
}

async function share() {
  const link = program.text.length > MOST ? "" : writeLink();
  if (!link) {
    state.textContent = `A link carries programs of up to ${MOST} characters: this one is longer.`;
    return;
  }
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    state.textContent = "The link is in the address bar, and copied.";
  } catch {
    state.textContent = "The link is in the address bar.";
  }
}

// ---- the page ----

if (fragment) {
  program.set(fragment.text);
  fields.function.value = fragment.function;
  fields.args.value = fragment.args;
  fields.transforms.value = fragment.transforms;
  if (fields.transforms.selectedIndex < 0) fields.transforms.value = "";
  shared.textContent = "This program came with the link. Read it before you press Show: nothing has run yet.";
  shared.hidden = false;
} else if (location.hash.startsWith("#program=")) {
  shared.textContent = "The link's program could not be read: it may have been cut off.";
  shared.hidden = false;
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  press();
});
form.querySelector(".share").addEventListener("click", share);
form.querySelector(".edit").addEventListener("click", () => program.edit());
for (const field of Object.values(fields)) field.addEventListener("change", follow);
form.hidden = false;
