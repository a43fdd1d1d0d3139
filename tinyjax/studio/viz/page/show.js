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

  /** Shows what a loop carries after one of its iterations: frame number `at`. */
  const showFrame = (loop, at) => {
    const counts = loop.dataset.frames.split(",");
    for (const frame of loop.querySelectorAll("[data-frame]")) frame.hidden = Number(frame.dataset.frame) !== at;
    for (const line of loop.querySelectorAll(".curve .at")) {
      const x = line.ownerSVGElement.viewBox.baseVal.width * (counts.length > 1 ? at / (counts.length - 1) : 1);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
    const [count, last] = [counts[at], counts.at(-1)].map((n) => Number(n).toLocaleString("en"));
    loop.querySelector("output").textContent = `after ${count} of ${last}`;
    loop.querySelector("input").value = at;
  };
  document.addEventListener("input", (event) => {
    const loop = event.target.closest?.(".tinyjax-show .loop");
    if (loop) showFrame(loop, Number(event.target.value));
  });

  const playing = new WeakMap(); // the timer of each loop that plays
  const stop = (loop) => {
    clearInterval(playing.get(loop));
    playing.delete(loop);
    loop.querySelector(".play").textContent = "Play";
  };
  document.addEventListener("click", (event) => {
    const loop = event.target.closest?.(".tinyjax-show .play")?.closest(".loop");
    if (!loop) return;
    if (playing.has(loop)) return stop(loop);
    const slider = loop.querySelector("input");
    const last = Number(slider.max);
    let at = Number(slider.value) === last ? 0 : Number(slider.value);
    showFrame(loop, at);
    loop.querySelector(".play").textContent = "Stop";
    playing.set(loop, setInterval(() => {
      at = Math.min(at + 1, last);
      showFrame(loop, at);
      if (at === last || !loop.isConnected) stop(loop);
    }, Math.max(60, Math.min(400, 6000 / last))));
  });

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
