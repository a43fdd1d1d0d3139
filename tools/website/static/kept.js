// What the reader writes, kept in this browser alone: texts by the place that they are written in.

import { tell } from "./notes.js";

const PREFIX = "tinyjax:";

export function read(key, otherwise = null) {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise; // there is no storage, or something else wrote there
  }
}

export function write(key, value) {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    tell("This browser keeps nothing here: its storage is full, or switched off. Copy what you wrote before you leave the page.");
  }
}

/** Calls this with what is kept there whenever another tab changes it. */
export function follow(key, changed) {
  addEventListener("storage", (event) => event.key === PREFIX + key && changed(read(key)));
}

export function forget(key) {
  try {
    localStorage.removeItem(PREFIX + key);
  } catch {
    // nothing was kept
  }
}

/** All that is kept below a prefix such as "function:", by what comes after it. */
export function all(prefix) {
  const found = {};
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(PREFIX + prefix)) found[key.slice((PREFIX + prefix).length)] = read(key.slice(PREFIX.length));
    }
  } catch {
    // nothing was kept
  }
  return found;
}
