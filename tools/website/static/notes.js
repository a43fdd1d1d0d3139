// Texts and pictures of a run, as elements. Nothing in them is ever read as HTML.

/** What went wrong. */
export function note(text) {
  const made = document.createElement("pre");
  made.className = "error";
  made.textContent = text;
  return made;
}

/** Shows in this element what a program prints; null begins anew. */
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
