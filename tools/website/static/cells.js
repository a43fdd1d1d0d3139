// The cells of a lesson: a program, Run, and what it shows; and its commands. All of a page share one Python.

import { Program, button } from "./editor.js";
import { drawn, keepHeight, note, printingIn, reveal } from "./notes.js";
import { Queue } from "./queue.js";
import { framedPicture } from "./pictures.js";
import { framed } from "./stages.js";

const ELSEWHERE = "This program needs an OpenCL driver, which no browser has: run it on your own machine.";
const cells = [];
const queue = new Queue();

class Cell {
  constructor(box, place) {
    this.box = box;
    this.output = box.querySelector(".output");
    this.question = box.querySelector("details.question");
    this.ran = null; // in which life of Python it has run
    const { name, line } = box.dataset;
    this.asked = { name, line: Number(line), number: place + 1 };
    this.program = new Program(box, `cell:${name}:${place}`, {
      run: () => queue.press(this),
      changed: () => this.showChange(),
    });
    const bar = box.querySelector(".bar");
    this.runs = bar.querySelector(".run");
    this.runs.addEventListener("click", () => queue.press(this));
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
    if (this.isElsewhere) this.say("needs a driver");
  }

  /** Whether it needs what no browser has. What the reader has put there may not. */
  get isElsewhere() {
    return "elsewhere" in this.box.dataset && !this.program.isChanged;
  }

  say(line) {
    this.state.textContent = line;
  }

  showChange() {
    this.resets.hidden = !this.program?.isChanged;
  }

  /** Run the cells before this one that have not run yet, and this one. */
  async run(python) {
    this.busy = "Running the cells above ...";
    for (const [place, needed] of cells.slice(0, cells.indexOf(this)).entries()) {
      if (needed.ran === python.life) continue;
      this.say(this.busy);
      if (!(await needed.show(python))) return this.say(`Cell ${place + 1} did not end well.`);
    }
    this.busy = "...";
    await this.show(python);
    reveal(this.output);
  }

  /** Run the program, and show what it prints, ends with, or fails with. True if it ended well. */
  async show(python) {
    if (this.isElsewhere) {
      this.say(ELSEWHERE);
      return true;
    }
    this.ran = null;
    this.box.classList.add("running");
    this.say("...");
    const printed = document.createElement("pre");
    const begin = performance.now();
    const release = keepHeight(this.output);
    this.output.replaceChildren(printed);
    try {
      const answer = await python.call("cell", { ...this.asked, text: this.program.text }, printingIn(printed));
      this.ran = python.life;
      await this.showAnswer(answer, printed);
      this.say(answer.error ? "" : `${((performance.now() - begin) / 1000).toFixed(1)} s`);
      return !answer.error;
    } catch (error) {
      this.output.append(note(error.message));
      this.say("");
      return false;
    } finally {
      if (!printed.textContent) printed.remove();
      release();
      this.box.classList.remove("running");
      if (this.question) this.question.open = true; // what it shows is the answer
    }
  }

  async showAnswer({ value, error, frames, pictures = [], stages, shown }, printed) {
    if (value) printed.append(`${value}\n`);
    const images = pictures.map((picture) => drawn(picture));
    this.output.append(...images);
    if (stages) this.output.append(framed(stages));
    if (shown) this.output.append(framedPicture(shown));
    if (error) this.output.append(note(error, frames));
    this.output.classList.add("live");
    await Promise.all(images.map((image) => image.decode().catch(() => {}))); // now they have their heights
  }
}

/** A command of the lesson's, `python -m tinyjax explain` or `step`: the page shows the same in a frame. */
class Command {
  constructor(box) {
    this.asked = { words: box.dataset.words };
    this.view = box.dataset.view;
    this.busy = "...";
    [this.runs, this.state, this.output] = [".run", ".state", ".output"].map((name) => box.querySelector(name));
    this.runs.addEventListener("click", () => queue.press(this));
    box.querySelector(".bar").hidden = false;
  }

  say(line) {
    this.state.textContent = line;
  }

  async run(python) {
    this.say(this.busy);
    try {
      const { stages, error, frames } = await python.call("command", this.asked);
      this.output.replaceChildren(stages ? framed(stages, this.view) : note(error, frames));
      this.say(stages?.summary ?? "");
      reveal(this.output);
    } catch (error) {
      this.output.replaceChildren(note(error.message));
      this.say("");
    }
  }
}

document.querySelectorAll(".cell").forEach((box, place) => cells.push(new Cell(box, place)));
document.querySelectorAll(".command").forEach((box) => new Command(box));
