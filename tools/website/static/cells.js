// The cells of a lesson: a program, Run, and what it shows; and its commands. All of a page share one Python.

import { Program, button } from "./editor.js";
import { drawn, note, printingIn } from "./notes.js";
import { Python } from "./python.js";
import { framed } from "./stages.js";

const cells = [];
let now = null; // the cell that runs, or waits for Python
const python = new Python((line) => now?.say(line));

class Cell {
  constructor(box, place) {
    this.box = box;
    this.output = box.querySelector(".output");
    this.question = box.querySelector("details.question");
    this.ran = 0; // in which start of Python it has run
    const { name, line } = box.dataset;
    this.asked = { name, line: Number(line) };
    this.program = new Program(box, `cell:${name}:${place}`, {
      run: () => this.press(),
      changed: () => this.showChange(),
    });
    const bar = box.querySelector(".bar");
    this.runs = bar.querySelector(".run");
    this.runs.addEventListener("click", () => this.press());
    this.runs.setAttribute("aria-label", `Run cell ${place + 1}`);
    const edit = bar.querySelector(".edit");
    edit.addEventListener("click", () => this.program.edit());
    edit.setAttribute("aria-label", `Edit cell ${place + 1}`);
    this.resets = button("As it was", "reset", () => this.program.reset());
    this.state = document.createElement("span");
    this.state.className = "state";
    this.state.setAttribute("role", "status");
    bar.append(this.resets, this.state);
    bar.hidden = false;
    this.showChange();
  }

  say(line) {
    this.state.textContent = line;
  }

  showChange() {
    this.resets.hidden = !this.program?.isChanged;
  }

  press() {
    if (now) return now === this || now.isBefore(this) ? python.stop() : undefined;
    return runThrough(this);
  }

  isBefore(other) {
    return cells.indexOf(this) < cells.indexOf(other);
  }

  /** Run the program, and show what it prints, ends with, or fails with. True if it ended well. */
  async run() {
    now = this;
    this.ran = 0;
    this.box.classList.add("running");
    this.say("");
    this.runs.textContent = "Stop";
    const printed = document.createElement("pre");
    const begin = performance.now();
    this.output.replaceChildren(printed);
    try {
      const answer = await python.call("cell", { ...this.asked, text: this.program.text }, printingIn(printed));
      this.ran = python.starts;
      this.show(answer, printed);
      this.say(answer.error ? "" : `${((performance.now() - begin) / 1000).toFixed(1)} s`);
      return !answer.error;
    } catch (error) {
      this.output.append(note(error.message));
      this.say("");
      return false;
    } finally {
      if (!printed.textContent) printed.remove();
      this.box.classList.remove("running");
      this.runs.textContent = "Run";
      now = null;
      if (this.question) this.question.open = true; // what it shows is the answer
    }
  }

  show({ value, error, pictures = [], stages }, printed) {
    if (value) printed.append(`${value}\n`);
    for (const picture of pictures) this.output.append(drawn(picture));
    if (stages) this.output.append(framed(stages));
    if (error) this.output.append(note(error));
    this.output.classList.add("live");
  }
}

/** A command of the lesson's, `python -m tinyjax explain` or `step`: the page shows the same in a frame. */
class Command {
  constructor(box) {
    this.asked = { words: box.dataset.words };
    this.view = box.dataset.view;
    [this.runs, this.state, this.output] = [".run", ".state", ".output"].map((name) => box.querySelector(name));
    this.words = this.runs.textContent;
    this.runs.addEventListener("click", () => this.press());
    box.querySelector(".bar").hidden = false;
  }

  say(line) {
    this.state.textContent = line;
  }

  isBefore() {
    return false;
  }

  async press() {
    if (now) return now === this ? python.stop() : undefined;
    now = this;
    this.runs.textContent = "Stop";
    this.say("...");
    try {
      const { stages, error } = await python.call("command", this.asked);
      this.output.replaceChildren(stages ? framed(stages, this.view) : note(error));
      this.say(stages?.summary ?? "");
    } catch (error) {
      this.output.replaceChildren(note(error.message));
      this.say("");
    } finally {
      this.runs.textContent = this.words;
      now = null;
    }
  }
}

/** Run the cells before this one that have not run yet, and this one. */
async function runThrough(cell) {
  const before = cells.slice(0, cells.indexOf(cell)).filter((c) => c.ran === 0 || c.ran !== python.starts || !python.ready);
  for (const needed of before) {
    if (!(await needed.run())) {
      cell.say("A cell above did not end well.");
      return;
    }
  }
  await cell.run();
}

document.querySelectorAll(".cell").forEach((box, place) => cells.push(new Cell(box, place)));
document.querySelectorAll(".command").forEach((box) => new Command(box));
