// A function, stage by stage: what `tinyjax explain` shows, in a frame of the page.

import { STATIC } from "./python.js";

/** Lets the frame show Python's answer about a function (`stages` of in_worker.py), as often as there is more. */
export function stagesIn(frame) {
  let shown = null;
  addEventListener("message", (event) => {
    if (event.source === frame.contentWindow && event.origin === location.origin && event.data === "ready" && shown) {
      event.source.postMessage(shown, location.origin); // the frame asks for it when it has loaded
    }
  });
  return (stages, view = "") => {
    shown = stages;
    frame.hidden = false;
    frame.src = new URL(`explain/frame.html?${Date.now()}${view}`, STATIC);
  };
}

/** A frame of its own; it opens with a view such as "#view=steps". */
export function framed(stages, view) {
  const frame = document.createElement("iframe");
  frame.className = "stages";
  frame.title = `${stages.name}${stages.args}, stage by stage`;
  stagesIn(frame)(stages, view);
  return frame;
}
