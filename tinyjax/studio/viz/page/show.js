// ---- pictures of arrays: the number under the pointer, and paths that a click copies ----

if (!globalThis.tinyjaxShows) { // once, also in a notebook with many of them
  globalThis.tinyjaxShows = true;
  const decoded = new WeakMap(); // the numbers of each picture
  const label = document.createElement("output");
  label.className = "tinyjax-number";
  label.hidden = true;
  document.body.append(label);

  const numbersOf = (image, count) => {
    if (!decoded.has(image)) {
      const bytes = Uint8Array.from(atob(image.dataset.values), (c) => c.charCodeAt(0));
      const kind = bytes.length === 4 * count ? Float32Array : Float64Array;
      decoded.set(image, new kind(bytes.buffer));
    }
    return decoded.get(image);
  };

  const text = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(6))).replace("-", "−") : String(x).replace("Infinity", "inf").replace("-", "−"));

  /** Where the pointer is, as an index such as "[3, 0:8]", and the number there. */
  const told = (image, event) => {
    const [rows, columns, tall, wide, gridRows, gridColumns] = image.dataset.sizes.split(",").map(Number);
    const box = image.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / box.height * gridRows);
    const column = Math.floor((event.clientX - box.left) / box.width * gridColumns);
    if (row < 0 || column < 0 || row >= gridRows || column >= gridColumns) return null;
    const places = [[row, tall, rows], [column, wide, columns]].map(([at, block, size]) =>
      (block === 1 ? String(at) : `${at * block}:${Math.min(size, (at + 1) * block)}`));
    if (image.dataset.index.split(":").length === 2) places.shift(); // of one axis
    const index = image.dataset.index.replaceAll(":", () => places.shift());
    const number = numbersOf(image, gridRows * gridColumns)[row * gridColumns + column];
    return `${index}  ${tall * wide > 1 ? "mean " : ""}${text(number)}`;
  };

  const follow = (event) => {
    const shown = event.target.closest?.(".tinyjax-show :is(img[data-values], [data-text])");
    const line = shown && (shown.dataset.text ?? told(shown, event));
    label.hidden = !line;
    if (!line) return;
    label.textContent = line;
    const left = Math.min(event.clientX + 14, innerWidth - label.offsetWidth - 6);
    const top = event.clientY + 18 + label.offsetHeight < innerHeight ? event.clientY + 18 : event.clientY - 12 - label.offsetHeight;
    label.style.translate = `${Math.max(4, left)}px ${top}px`;
  };
  document.addEventListener("pointermove", follow);
  document.addEventListener("pointerdown", follow);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".tinyjax-show .path");
    if (!button) return;
    event.preventDefault(); // it is in a summary, which would fold
    try {
      await navigator.clipboard.writeText(button.dataset.path);
      button.classList.add("copied");
      setTimeout(() => button.classList.remove("copied"), 900);
    } catch { /* a frame without the permission */ }
  });
}
