// What every page of the site begins with: it loads what the page has use for, and nothing else.

const wanted = [
  [".cell, .command", "./cells.js"],
  [".exercise", "./exercises.js"],
  ["#playground", "./playground.js"],
  ["#your-work, #lesson-map", "./work.js"],
];
for (const [selector, file] of wanted) {
  if (document.querySelector(selector)) import(file);
}

// What scrolls sideways can be reached by the keyboard.
for (const box of document.querySelectorAll(".table-wrapper, article pre")) box.tabIndex = 0;
