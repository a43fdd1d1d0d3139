// Arrays as pictures: what viz.show and its relatives make, in a frame of the page.

import { STATIC } from "./python.js";

/** A frame of its own, as high as what is in it: HTML of a program stays out of the page. */
export function framedPicture(fragment) {
  const frame = document.createElement("iframe");
  frame.className = "picture";
  frame.title = "arrays as pictures";
  addEventListener("message", ({ source, origin, data }) => {
    if (source !== frame.contentWindow || origin !== location.origin) return;
    if (data === "ready") source.postMessage(fragment, origin); // the frame asks for it when it has loaded
    else if (data.height) frame.style.height = `${data.height}px`;
  });
  frame.src = new URL("show/frame.html", STATIC);
  return frame;
}
