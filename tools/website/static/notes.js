// Texts and pictures of a run, as elements. Nothing in them is ever read as HTML.

const MARGIN = 16, HEADER = 64; // pixels that stay free below, and above, where a header may be

/** An error. If it has more frames than its text shows, they are folded below it. */
export function note(text, frames = "") {
  const made = document.createElement("div");
  made.append(pre(text, "error"));
  if (frames) {
    const folded = document.createElement("details");
    folded.append(Object.assign(document.createElement("summary"), { textContent: "All frames" }), pre(frames, "frames"));
    made.append(folded);
  }
  return made;
}

function pre(text, className) {
  return Object.assign(document.createElement("pre"), { textContent: text, className });
}

/** Keep the element's height, so that nothing below it moves, until the function that is returned is called. */
export function keepHeight(element) {
  element.style.minHeight = `${element.getBoundingClientRect().height}px`;
  return () => (element.style.minHeight = "");
}

/** Scroll just as far as it takes to see the element, or the beginning of a long one. */
export function reveal(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  const below = Math.min(bottom, top + innerHeight / 2) + MARGIN - innerHeight;
  const by = below > 0 ? below : Math.min(top - HEADER, 0);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (height && by) scrollBy({ top: by, behavior: still ? "auto" : "smooth" });
}

/** Shows in this element what a program prints; null begins again. */
export function printingIn(element) {
  return (text) => (text === null ? element.replaceChildren() : element.append(text));
}

/** A graph as a picture: nothing in it can run, and no link in it leads anywhere. */
export function drawn(svg, words = "the graph that the cell ends with") {
  const picture = document.createElement("img");
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  picture.alt = words;
  return picture;
}

/** Says something at the foot of the window; an empty text says nothing more. */
export function tell(words) {
  const there = document.querySelector(".told");
  if (there?.textContent === words) return;
  there?.remove();
  if (words) document.body.append(Object.assign(document.createElement("p"), { className: "told", role: "alert", textContent: words }));
}
