// What runs on a page, one after the other: all of it shares one Python.

import { Python } from "./python.js";

const SLIP = 500; // milliseconds in which a second press is one of a double click

/** A job has a button `runs`, shows a line by `say` (`busy` while it runs), and `run(python)` does it. */
export class Queue {
  constructor() {
    this.jobs = []; // the first of them runs
    this.python = new Python((line) => this.jobs[0]?.say(line || this.jobs[0].busy));
  }

  /** A press of the job's button: it runs when those before it are done. Pressed again, it ends, or does not begin. */
  press(job) {
    const place = this.jobs.indexOf(job);
    if (place >= 0) {
      if (performance.now() - job.pressed < SLIP) return;
      if (place === 0) this.python.stop();
      for (const ended of place === 0 ? this.jobs.splice(1) : this.jobs.splice(place, 1)) this.leave(ended, "");
      return;
    }
    job.pressed = performance.now();
    job.words ??= job.runs.textContent;
    job.runs.textContent = "Stop";
    this.jobs.push(job);
    if (this.jobs.length > 1) job.say("Waits for what runs now.");
    else this.work();
  }

  async work() {
    while (this.jobs.length) {
      const [job] = this.jobs;
      await job.run(this.python).catch((error) => job.say(error.message));
      this.leave(job);
      this.jobs.shift();
    }
  }

  leave(job, line) {
    job.runs.textContent = job.words;
    if (line !== undefined) job.say(line);
  }
}
