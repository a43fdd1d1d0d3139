// The exercises of a lesson: functions to write, hints, and a verdict by the tests that judge tinyjax.

import { Program, button } from "./editor.js";
import * as kept from "./kept.js";
import { keepHeight, reveal } from "./notes.js";
import { Queue } from "./queue.js";

const queue = new Queue();

class Exercise {
  constructor(box) {
    this.box = box;
    this.number = box.dataset.number;
    this.name = box.dataset.name;
    this.verdict = box.querySelector(".verdict");
    this.busy = "Judging ...";
    this.functions = [...box.querySelectorAll(".function")].map((part) => {
      const name = part.dataset.function;
      const changed = () => (reset.hidden = !program.isChanged);
      const program = new Program(part, `function:${name}`, { run: () => queue.press(this), changed });
      const edit = button("Write", "edit", () => program.edit());
      edit.setAttribute("aria-label", `Write ${name}`);
      const reset = button("As it was", "reset", () => program.reset());
      reset.setAttribute("aria-label", `${name} as it was`);
      const bar = document.createElement("div");
      bar.className = "bar";
      bar.append(edit, reset);
      part.append(bar);
      changed();
      return { name, program };
    });
    const bar = box.querySelector(":scope > .bar");
    this.runs = bar.querySelector(".run");
    this.runs.addEventListener("click", () => queue.press(this));
    this.runs.setAttribute("aria-label", `Judge exercise ${this.number}`);
    this.hints = [...box.querySelectorAll(".hints li")];
    this.hintsBox = box.querySelector(".hints");
    const hint = bar.querySelector(".hint");
    hint.addEventListener("click", () => this.hint());
    hint.setAttribute("aria-label", `A hint for exercise ${this.number}`);
    bar.hidden = false;
    this.showHints(kept.read(`hints:${this.name}`, 0));
    if (kept.read(`passed:${this.name}`)) this.show({ state: "passed", lines: [] });
  }

  say(line) {
    this.verdict.textContent = line;
  }

  hint() {
    const given = Math.min(kept.read(`hints:${this.name}`, 0) + 1, this.hints.length);
    kept.write(`hints:${this.name}`, given);
    this.showHints(given);
    this.hintsBox.open = true;
  }

  showHints(given) {
    this.hints.forEach((hint, place) => (hint.hidden = place >= given));
    this.hintsBox.hidden = given === 0;
    const left = this.hints.length - given;
    this.box.querySelector("button.hint").textContent = left ? `Hint (${left} left)` : "No more hints";
  }

  async run(python) {
    const release = keepHeight(this.verdict);
    this.verdict.className = "verdict";
    this.say(this.busy);
    const texts = Object.fromEntries(this.functions.map(({ name, program }) => [name, program.text]));
    try {
      const found = await python.call("judge", { number: this.number, texts });
      if (found.state === "passed") kept.write(`passed:${this.name}`, true);
      else kept.forget(`passed:${this.name}`);
      this.show(found);
    } catch (error) {
      this.show({ state: "not run", lines: [error.message] });
    } finally {
      release();
      reveal(this.verdict);
    }
  }

  show({ state, passed, of, lines }) {
    const empty = this.functions.filter(({ program }) => !program.isChanged).map(({ name }) => name.split(":")[1]);
    const words = {
      passed: "Passed.",
      failed: `Not yet: ${passed} of ${of} tests pass.`,
      empty: `Still empty: write ${empty.join(", ") || "it"} first.`,
      "not run": "No test could run.",
    };
    const heading = document.createElement("p");
    heading.textContent = words[state] ?? state;
    const why = document.createElement("pre");
    why.textContent = lines.join("\n");
    this.verdict.className = `verdict ${state.replace(" ", "-")}`;
    this.verdict.replaceChildren(heading, ...(lines.length ? [why] : []));
  }
}

document.querySelectorAll(".exercise").forEach((box) => new Exercise(box));
