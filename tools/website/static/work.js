// One's work: how far one is, on the map of lessons; and out of the browser and in, as the folder that `learn` knows.

import * as kept from "./kept.js";
import { Python, STATIC } from "./python.js";

const work = document.getElementById("your-work");
const catalogue = await (await fetch(new URL("exercises.json", STATIC))).json();

// ---- progress ----

function shares() {
  const found = {};
  for (const { lesson, name } of catalogue) {
    found[lesson] ??= { done: 0, all: 0 };
    found[lesson].all += 1;
    found[lesson].done += kept.read(`passed:${name}`) ? 1 : 0;
  }
  return found;
}

function showProgress() {
  const found = shares();
  const done = Object.values(found).reduce((sum, lesson) => sum + lesson.done, 0);
  const progress = document.getElementById("progress");
  const whole = Object.values(found).filter((lesson) => lesson.done === lesson.all).length;
  const lessons = `${whole} ${whole === 1 ? "lesson is" : "lessons are"} complete`;
  progress.textContent = `${done} of ${catalogue.length} exercises pass in this browser; ${lessons}.`;
  progress.hidden = done === 0 && !work;
  for (const node of document.querySelectorAll("#lesson-map .node")) {
    const share = found[node.dataset.name];
    if (!share?.done) continue;
    node.classList.add(share.done === share.all ? "done" : "begun");
    const text = node.querySelector("text");
    if (share.done === share.all) text.textContent = `\u2713 ${text.textContent}`;
  }
}

// ---- out and in ----

const said = document.getElementById("said");
const say = (line) => (said.textContent = line);

async function withPython(kind, asked) {
  const python = new Python((line) => line && say(line));
  try {
    return await python.call(kind, asked);
  } finally {
    python.stop();
  }
}

async function exportWork() {
  const lesson = document.getElementById("lesson").value;
  const here = catalogue.filter((exercise) => exercise.lesson === lesson);
  const names = new Set(here.flatMap((exercise) => exercise.functions));
  const texts = Object.fromEntries(Object.entries(kept.all("function:")).filter(([name]) => names.has(name)));
  const passed = here.map((exercise) => exercise.name).filter((name) => kept.read(`passed:${name}`));
  try {
    const { zip, name } = await withPython("pack", { lesson, texts, passed });
    const bytes = Uint8Array.from(atob(zip), (c) => c.charCodeAt(0));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
    link.download = name;
    link.click();
    say(`${name}: unpack it, and go on in it with python -m tinyjax learn test.`);
  } catch (error) {
    say(error.message);
  }
}

async function importWork(file) {
  if (file.size > 20e6) return say("A folder of one lesson has less than 20 MB: this is something else.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  try {
    const { lesson, texts } = await withPython("unpack", { zip: btoa(text) });
    const known = new Set(catalogue.flatMap((exercise) => exercise.functions));
    const found = Object.entries(texts).filter(([name]) => known.has(name));
    for (const [name, written] of found) kept.write(`function:${name}`, written);
    say(`${found.length} functions of ${lesson} are here now. Judge them on the lesson's page.`);
  } catch (error) {
    say(error.message);
  }
}

showProgress();
if (work) {
  const lessons = [...new Set(catalogue.map((exercise) => exercise.lesson))];
  document.getElementById("lesson").append(...lessons.map((lesson) => new Option(lesson, lesson)));
  document.getElementById("export").addEventListener("click", exportWork);
  document.getElementById("import").addEventListener("change", ({ target }) => target.files[0] && importWork(target.files[0]));
  work.hidden = false;
}
