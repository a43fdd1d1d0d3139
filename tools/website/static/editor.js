// A program on a page that can be edited: CodeMirror takes the place of the text when the reader asks for it.

import * as kept from "./kept.js";
import { tell } from "./notes.js";

const RUN = /Mac|iP(hone|ad)/.test(navigator.platform) ? "\u2318+Enter" : "Ctrl+Enter";
const KEYS = `${RUN} runs it. Tab indents; Escape, then Tab, leaves the editor.`;
let codemirror; // loaded once, for all editors of the page

export class Program {
  /** `box` is the element around `<pre class="code">`; what is typed is kept under `key`, if there is one. */
  constructor(box, key, { run, changed = () => {} }) {
    this.box = box;
    this.shown = box.querySelector("pre.code");
    this.given = this.shown.textContent;
    this.colours = [...this.shown.childNodes].map((node) => node.cloneNode(true));
    this.key = key;
    this.run = run;
    this.changed = changed;
    this.view = null;
    const mine = key && kept.read(key);
    if (typeof mine === "string" && mine !== this.given) this.shown.textContent = mine;
    if (key) kept.follow(key, (text) => this.set(typeof text === "string" ? text : this.given));
    this.shown.addEventListener("dblclick", () => this.edit());
    this.shown.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === this.shown) {
        event.preventDefault();
        if (event.ctrlKey || event.metaKey || event.shiftKey) this.run();
        else this.edit();
      }
    });
  }

  get text() {
    return this.view ? this.view.state.doc.toString() : this.shown.textContent;
  }

  get isChanged() {
    return this.text !== this.given;
  }

  async edit() {
    if (this.view) return this.view.focus();
    codemirror ??= import("./codemirror/setup.js");
    const loaded = await codemirror.catch(() => (codemirror = null));
    tell(loaded ? "" : "The editor could not be loaded: press again when the network is there.");
    if (this.view || !loaded) return;
    this.view = loaded.makeEditor(this.shown.textContent, {
      label: `Program. ${KEYS}`,
      run: () => this.run(),
      changed: (text) => this.keep(text),
    });
    this.shown.hidden = true;
    const keys = Object.assign(document.createElement("p"), { className: "keys", textContent: KEYS });
    this.shown.before(this.view.dom, keys);
    this.view.focus();
  }

  keep(text) {
    if (this.key) {
      if (text === this.given) kept.forget(this.key);
      else kept.write(this.key, text);
    }
    this.changed();
  }

  /** Put a text in place of what stands there. */
  set(text) {
    if (this.view) {
      const { length } = this.view.state.doc;
      this.view.dispatch({ changes: { from: 0, to: length, insert: text } });
      return;
    }
    if (text === this.given) this.shown.replaceChildren(...this.colours.map((node) => node.cloneNode(true)));
    else this.shown.textContent = text;
    this.keep(text);
  }

  reset() {
    this.set(this.given);
  }
}

export function button(words, name, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = name;
  made.textContent = words;
  made.addEventListener("click", pressed);
  return made;
}
