// ---- for all views: elements, coloured code, tabs ----

const data = JSON.parse(document.getElementById("data").textContent);

const heading = document.querySelector("h1");
heading.title = heading.textContent; // a long one is cut

/** An element with attributes and children; text is always text, never HTML. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const KEYWORDS = {
  python: "and as assert async await break class continue def del elif else except finally for from global "
    + "if import in is lambda None nonlocal not or pass raise return True False try while with yield",
  jaxpr: "lambda let in makes from",
  c: "__kernel __global __local __attribute__ restrict const static void if else for while return break "
    + "continue goto switch case unsigned char short int long half float double bool size_t",
};
const TOKENS = Object.fromEntries(Object.entries(KEYWORDS).map(([language, words]) => [language, new RegExp(
  `(?<comment>${language === "c" ? "//.*|/\\*.*?\\*/" : "#.*"})`
  + (language === "python" ? `|(?<docs>"""[^]*?(?:"""|$)|\'\'\'[^]*?(?:\'\'\'|$))` : "")
  + `|(?<string>"(?:[^"\\\\\n]|\\\\.)*"|'(?:[^'\\\\\n]|\\\\.)*')`
  + `|(?<keyword>\\b(?:${words.split(" ").join("|")})\\d*\\b)`
  + (language === "jaxpr" ? "|(?<type>:[a-z]+\\d*(?:<\\w+>)?\\[[\\w,@()]*\\](?:\\{V:[\\w,()]*\\})?)" : "")
  + `|(?<number>\\b\\d[\\d.]*(?:e[-+]?\\d+)?[fuUlL]*\\b)`, "g")]));

/** Lines of code as lists of nodes, their words coloured; a string may go on over several lines. */
function painted(texts, language) {
  const text = texts.join("\n");
  const lines = [[]];
  const put = (part, kind) => part.split("\n").forEach((piece, i) => {
    if (i) lines.push([]);
    if (piece) lines.at(-1).push(...(kind ? [element("span", { class: kind }, piece)] : breakable(piece, language)));
  });
  let end = 0;
  for (const match of text.matchAll(TOKENS[language])) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    put(text.slice(end, match.index));
    put(match[0], kind);
    end = match.index + match[0].length;
  }
  put(text.slice(end));
  return lines;
}

const BREAKS = { jaxpr: /(?<=[[(=,])(?=[\w(])/, python: /(?<=[[({])(?=[\w"'])|(?=\.\w+\()/ };

/** A text with more places to break it than its spaces: after brackets, never within a name. */
function breakable(text, language) {
  const pieces = BREAKS[language] ? text.split(BREAKS[language]) : [text];
  return pieces.flatMap((piece, i) => (i ? [element("wbr"), piece] : [piece]));
}

/** Has what a long line wraps into begin farther right than the line. Its own indentation is of spaces that don't wrap. */
function hang(text, source) {
  const indent = source.length - source.trimStart().length;
  text.style.setProperty("--indent", indent);
  const first = document.createTreeWalker(text, NodeFilter.SHOW_TEXT).nextNode();
  if (first) first.data = first.data.replace(/^ +/, (spaces) => "\u00a0".repeat(spaces.length));
}

/** Scrolls only the box that an element is in, and only if it is out of sight. */
function reveal(element, box) {
  const inner = element.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 3;
  }
}

// ---- tabs: arrow keys move between them, as the pattern for tabs has it ----

const tabs = [...document.querySelectorAll("[role=tab]")];

function choose(tab) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  history.replaceState(null, "", `#view=${tab.getAttribute("aria-controls")}`); // a reload opens the same view
  document.dispatchEvent(new CustomEvent("chosen", { detail: tab.getAttribute("aria-controls") }));
}

tabs.forEach((tab, number) => {
  tab.addEventListener("click", () => {
    choose(tab);
    document.getElementById(tab.getAttribute("aria-controls")).focus({ preventScroll: true }); // its keys work at once
  });
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const step = event.key === "ArrowRight" ? 1 : tabs.length - 1;
    const other = tabs[(number + step) % tabs.length];
    choose(other);
    other.focus();
  });
});
