// ---- the program beside its page: what is typed is explained half a second later ----

const token = new URLSearchParams(location.search).get("token");
const ask = (path, options) => fetch(`${path}?token=${encodeURIComponent(token)}`, options);
const [box, save, status, error, page] = ["text", "save", "status", "error", "page"].map((id) => document.getElementById(id));
let version = 0; // that is shown
let known = null; // the text that the server has
let typing = 0; // the timer of what was typed last
let sending = null; // the last text on its way to the server
let unsaved = ""; // why the file could not be written

const program = editor.makeEditor("", {
  label: "Your program. Escape, then Tab, leaves the editor.",
  run: () => send("edit"),
  changed: (text) => {
    if (text === known) return; // it came from the server
    save.disabled = false;
    clearTimeout(typing);
    typing = setTimeout(() => send("edit"), 500);
  },
});
box.append(program.dom);

function send(path) {
  clearTimeout(typing);
  typing = 0;
  known = program.state.doc.toString();
  return sending = ask(path, { method: "POST", body: known });
}

box.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save.click();
  }
});
save.addEventListener("click", async () => {
  const done = await send("save");
  save.disabled = done.ok;
  unsaved = done.ok ? "" : `not saved: ${done.statusText}`;
  if (unsaved) send("edit"); // what is not in the file stays in the page
});

function show(state) {
  if (!typing && state.text !== known) { // the file was changed elsewhere
    known = state.text;
    program.dispatch({ changes: { from: 0, to: program.state.doc.length, insert: known } });
    save.disabled = true;
  }
  error.hidden = !state.error;
  error.textContent = state.error;
  const shown = state.version ? `version ${state.version}` : "";
  const now = state.working ? `explaining … ${shown}` : state.error ? `wrong; the page is of ${shown || "nothing yet"}` : shown;
  status.textContent = unsaved || now;
  if (state.version === version) return;
  version = state.version;
  const hash = page.contentWindow.location.hash; // the tab that was open stays open
  page.src = `page?token=${encodeURIComponent(token)}&version=${version}${hash}`;
}

async function poll() {
  try {
    const before = sending;
    await before?.catch(() => {}); // whether it arrived, the state says
    const answer = await ask("state");
    const state = await answer.json();
    if (sending === before) show(state); // else it may be of the text before
  } catch {
    status.textContent = "the server has ended: start explain --live again";
  }
  setTimeout(poll, 400);
}

poll();
