// ---- long lists: of many items, those are drawn that come near to what is seen ----

const CHUNK = 120; // items that are drawn together
const NEAR = "800px"; // above and below what is seen
const longLists = new WeakMap(); // by their elements

class LongList {
  /** `draw(n)` makes the element of item n, `text(n)` is what a search reads; `height` is an item's, about, in pixels. */
  constructor(count, draw, text, height = 19) {
    Object.assign(this, { count, draw, text, drawn: new Map(), marks: new Map() });
    this.element = element("div", { class: "long" });
    longLists.set(this.element, this);
    this.chunks = [];
    for (let from = 0; from < count; from += CHUNK) {
      const chunk = element("ol", {});
      chunk.style.minHeight = `${height * Math.min(CHUNK, count - from)}px`;
      this.chunks.push(chunk);
      this.element.append(chunk);
    }
    if (count <= CHUNK) this.chunks.forEach((_, i) => this.drawChunk(i));
  }

  /** Draws chunks as they come near to what the box shows. */
  follow(box) {
    if (this.count <= CHUNK) return;
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        this.drawChunk(this.chunks.indexOf(target));
        observer.unobserve(target);
      }
    }, { root: box, rootMargin: NEAR });
    for (const chunk of this.chunks) observer.observe(chunk);
  }

  drawChunk(number) {
    const chunk = this.chunks[number];
    if (!chunk || chunk.firstChild) return;
    chunk.style.minHeight = "";
    for (let n = CHUNK * number; n < Math.min(this.count, CHUNK * (number + 1)); n++) {
      const made = this.draw(n);
      const item = made.matches("li") ? made : element("li", {}, made);
      this.drawn.set(n, made);
      made.classList.add(...(this.marks.get(n) ?? []));
      chunk.append(item);
    }
  }

  /** The element of item n, drawn now if it was not. */
  at(n) {
    this.drawChunk(Math.floor(n / CHUNK));
    return this.drawn.get(n);
  }

  /** Gives item n a class, or takes it away; one that is not drawn yet will have it. */
  mark(n, name, isMarked = true) {
    if (!this.marks.has(n)) this.marks.set(n, new Set());
    const marks = this.marks.get(n);
    if (isMarked) marks.add(name); else marks.delete(name);
    this.drawn.get(n)?.classList.toggle(name, isMarked);
  }
}
