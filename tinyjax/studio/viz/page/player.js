// ---- kernels at work: what each step loads and stores ----
// Space plays and stops; the arrow keys go a step on or back, and to the next stage or the one before.

const ITEM_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a7a00", "#56b4e9", "#e69f00", "#7a5ab5"];
const TRAIL = 16; // steps for which it is seen that an element was touched
const HEADS = [
  ["accesses", "loads and stores, a vector's lanes together"], ["steps", "accesses of the work-item that has most"],
  ["loads", "elements"], ["stores", "elements"], ["redundant", "loads of elements that were loaded before"],
  ["bytes", "that are loaded and stored"],
  ["fetched", "bytes that don't come from a cache of 32 lines of 16 bytes, one for each work-item or group"],
  ["local", "elements that are loaded from or stored to local memory"],
  ["reuse", "median number of other elements that are touched before the same one is touched again"],
];

const itemColour = (item) => ITEM_COLOURS[item % ITEM_COLOURS.length];
const inWords = (n) => (n === null ? "–" : n.toLocaleString("en"));

/** The positions that an access touches. */
function positionsOf([, , , , first, count, stride]) {
  return Array.from({ length: count }, (_, lane) => first + lane * stride);
}

class Player {
  constructor(root, kernels) {
    this.root = root;
    this.kernels = kernels;
    this.kernel = 0;
    this.stage = 0;
    this.time = 0;
    this.timer = null;
    this.build();
    this.showKernel(0);
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.pictures);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  get now() {
    return this.kernels[this.kernel].stages[this.stage];
  }

  // ---- the frame ----

  build() {
    const button = (kind, text, label, work) => {
      const made = element("button", { type: "button", class: `move ${kind}`, title: label }, text);
      if (!/\w/.test(text)) made.setAttribute("aria-label", label);
      made.addEventListener("click", work);
      return made;
    };
    this.choice = element("select", { "aria-label": "Kernel" });
    this.kernels.forEach((each, n) => this.choice.append(element("option", { value: n }, each.name)));
    this.choice.hidden = this.kernels.length < 2;
    this.choice.addEventListener("change", () => this.showKernel(Number(this.choice.value)));
    this.playButton = button("play", "Play", "play or stop (space)", () => this.playOrStop());
    this.slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "Step" });
    this.slider.addEventListener("input", () => { this.stop(); this.go(Number(this.slider.value)); });
    this.place = element("output", { class: "place" });
    this.shade = element("select", { "aria-label": "What shades say" },
      element("option", { value: "trail" }, "shade: touched of late"),
      element("option", { value: "count" }, "shade: how often so far"));
    this.shade.addEventListener("change", () => this.draw());
    this.table = element("div", { class: "stages-table", tabindex: "0", role: "region", "aria-label": "Stages" });
    this.why = element("p", { class: "what" });
    const meanings = HEADS.map(([name, about]) => element("p", {}, element("b", {}, name), `: ${about}`));
    const notes = element("details", {}, element("summary", {}, "what the numbers are"), ...meanings);
    this.sums = element("p", { class: "what sums", role: "status" });
    this.pictures = element("div", { class: "pictures" });
    this.legend = element("p", { class: "what legend" });
    this.code = element("ol", { class: "scroll code", tabindex: "0", "aria-label": "The kernel" });
    this.bins = element("div", { class: "bins" });
    const part = (kind, title, ...inside) => element("section", { class: `part ${kind}`, "aria-label": title },
      element("h2", {}, title), ...inside);
    const bar = element("div", { class: "bar" }, this.choice, this.playButton,
      button("", "◀", "One step back (left arrow)", () => { this.stop(); this.go(this.time - 1); }),
      button("", "▶", "One step on (right arrow)", () => { this.stop(); this.go(this.time + 1); }),
      this.slider, this.place, this.shade);
    this.root.classList.add("player");
    this.root.append(
      part("numbers", "stages: the kernel, and what each directive makes of it", this.table, this.why, notes),
      bar,
      element("div", { class: "work" },
        part("memory", "memory", element("div", { class: "memory-box" }, this.sums, this.legend, this.pictures)),
        element("div", { class: "beside" }, part("text", "the lines that run", this.code),
          part("reuse", "reuse distances: other elements touched before the same one again", this.bins))));
  }

  // ---- kernels and stages ----

  showKernel(number) {
    this.kernel = number;
    const heads = HEADS.map(([name, about]) => element("th", { scope: "col", title: about }, name));
    const rows = this.kernels[number].stages.map((stage, n) => {
      const choose = element("button", { type: "button" }, stage.title);
      choose.addEventListener("click", () => this.showStage(n));
      const cells = stage.traffic.map((count) => element("td", {}, inWords(count)));
      return element("tr", {}, element("th", { scope: "row" }, choose), ...cells);
    });
    this.table.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "stage"), ...heads)),
      element("tbody", {}, ...rows)));
    this.showStage(0);
  }

  showStage(number) {
    this.stop();
    this.stage = number;
    [...this.table.querySelectorAll("tbody tr")].forEach((row, n) => {
      row.classList.toggle("here", n === number);
      row.querySelector("button").setAttribute("aria-pressed", n === number);
    });
    const row = this.table.querySelector("tr.here");
    reveal(row, this.table);
    const stage = this.now;
    this.why.hidden = !this.kernels[this.kernel].stages.some(({ why }) => why);
    this.why.textContent = stage.why ? `${stage.title}: ${stage.why}.` : stage.title;
    this.rows = stage.lines.map((line) => {
      const text = element("span", { class: "text" }, line.trimStart());
      text.style.paddingLeft = `${line.length - line.trimStart().length + 2}ch`;
      return element("li", { class: "line" }, text);
    });
    this.code.replaceChildren(...this.rows);
    this.canvases = stage.grids.map((grid) => {
      const kind = grid.bytes ? "" : ", local memory";
      const canvas = element("canvas", { role: "img", "aria-label": `Elements of ${grid.name}` });
      return { grid, canvas, figure: element("figure", {}, element("figcaption", {}, `${grid.name}: ${grid.type}${kind}`), canvas) };
    });
    this.pictures.replaceChildren(...this.canvases.map(({ figure }) => figure));
    this.drawLegend(stage);
    this.drawBins(stage);
    this.slider.max = Math.max(0, stage.steps - 1);
    this.go(0);
  }

  drawLegend(stage) {
    const items = Math.min(stage.items, ITEM_COLOURS.length);
    const swatches = stage.items > 1 ? Array.from({ length: items }, (_, item) => {
      const swatch = element("span", { class: "swatch" }, String(item));
      swatch.style.background = itemColour(item);
      return swatch;
    }) : [];
    const who = stage.items > 1 ? [`${stage.word}s`, ...swatches, ...(stage.items > items ? [`and so on, ${inWords(stage.items)} in all;`] : [";"])] : [`one ${stage.word};`];
    this.legend.replaceChildren(...who, " filled: loaded now; framed: stored now");
  }

  drawBins(stage) {
    const bins = [];
    for (const [distance, count] of stage.distances) {
      const bin = distance < 1 ? 0 : Math.floor(Math.log2(distance)) + 1;
      bins[bin] = (bins[bin] ?? 0) + count;
    }
    const most = Math.max(1, ...bins.filter(Boolean));
    const first = bins.findIndex(Boolean);
    const lines = Array.from(bins, (count = 0, bin) => {
      const low = bin ? 2 ** (bin - 1) : 0;
      const label = bin < 2 ? String(low) : `${low}–${2 * low - 1}`;
      const mark = element("span", { class: "bin-bar" });
      mark.style.width = `${100 * count / most}%`;
      return element("div", { class: "bin" }, element("span", { class: "bin-label" }, label), element("span", { class: "bin-track" }, mark),
        element("span", { class: "bin-count" }, inWords(count)));
    });
    this.bins.replaceChildren(...(lines.length ? lines.slice(first) : [element("p", { class: "note" }, "No element is touched twice.")]));
  }

  // ---- steps ----

  go(time) {
    const stage = this.now;
    this.time = Math.min(Math.max(0, time), Math.max(0, stage.steps - 1));
    this.slider.value = this.time;
    this.place.textContent = `${inWords(this.time + 1)} of ${inWords(stage.steps)}`;
    this.slider.setAttribute("aria-valuetext", this.place.textContent);
    const until = stage.accesses.filter((access) => access[0] <= this.time);
    const current = until.filter((access) => access[0] === this.time);
    this.rows.forEach((row) => row.classList.remove("here"));
    for (const [, , line] of current) this.rows[line].classList.add("here");
    if (current.length) reveal(this.rows[current[0][2]], this.code);
    this.sums.textContent = this.soFar(stage, until, current);
    this.draw();
  }

  /** Where the step is, and what has been loaded and stored until then. */
  soFar(stage, until, current) {
    const loaded = new Set();
    let [loads, stores, redundant] = [0, 0, 0];
    for (const access of until) {
      if (!stage.grids[access[3]].bytes) continue;
      for (const position of positionsOf(access)) {
        if (access[7] & 2) stores++;
        if (!(access[7] & 1)) continue;
        loads++;
        const key = `${access[3]} ${position}`;
        if (loaded.has(key)) redundant++;
        loaded.add(key);
      }
    }
    const first = current[0];
    const loops = first ? (stage.loops[first[2]] ?? []).map((name, n) => `${name} = ${first[8 + n]}`).join(", ") : "";
    const who = loops ? `${stage.items > 1 ? `${stage.word} ${first[1]}: ` : ""}${loops}. ` : "";
    return `${who}So far ${inWords(loads)} elements loaded (${inWords(redundant)} of them again), ${inWords(stores)} stored.`;
  }

  draw() {
    if (!this.canvases || !this.pictures.clientWidth) return;
    const style = getComputedStyle(document.documentElement);
    const colour = Object.fromEntries(["page", "rule", "text", "soft"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const widths = this.canvases.map(({ grid }) => Math.min(grid.columns, grid.size));
    const [space, all] = [this.pictures.clientWidth - 26, widths.reduce((sum, width) => sum + width, 0)];
    const beside = Math.floor((space - 24 * (widths.length - 1)) / all); // the cells' size, if all stand in a row
    const cell = beside >= 8 ? beside : Math.floor(space / Math.max(...widths)); // one size, for all arrays
    this.canvases.forEach(({ grid, canvas }, number) => this.drawGrid(grid, canvas, number, Math.max(4, Math.min(24, cell)), colour));
  }

  drawGrid(grid, canvas, number, cell, colour) {
    const columns = Math.min(grid.columns, grid.size);
    const rows = Math.ceil(grid.size / columns);
    const scale = devicePixelRatio || 1;
    const [width, height] = [columns * cell + 1, rows * cell + 1];
    Object.assign(canvas, { width: width * scale, height: height * scale });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const box = (position) => [(position % columns) * cell, Math.floor(position / columns) * cell, cell, cell];
    this.drawShades(pen, number, box);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour.rule;
    pen.lineWidth = 1;
    for (let position = 0; position < grid.size; position++) {
      const [x, y] = box(position);
      pen.strokeRect(x + 0.5, y + 0.5, cell, cell);
    }
    for (const access of this.now.accesses) {
      if (access[0] !== this.time || access[3] !== number) continue;
      for (const position of positionsOf(access)) {
        const [x, y] = box(position);
        pen.fillStyle = pen.strokeStyle = itemColour(access[1]);
        if (access[7] & 1) pen.fillRect(x + 1, y + 1, cell - 1, cell - 1);
        if (!(access[7] & 2)) continue;
        if (access[7] & 1) pen.strokeStyle = colour.text; // both: it is combined with
        pen.lineWidth = Math.max(2, cell / 5);
        const inset = pen.lineWidth / 2 + 1;
        pen.strokeRect(x + inset, y + inset, cell + 1 - 2 * inset, cell + 1 - 2 * inset);
      }
    }
  }

  /** What was touched before this step: lighter the longer ago, or darker the more often. */
  drawShades(pen, number, box) {
    const counts = new Map();
    for (const access of this.now.accesses) {
      if (access[0] >= this.time || access[3] !== number) continue;
      for (const position of positionsOf(access)) {
        const [count] = counts.get(position) ?? [0];
        counts.set(position, [count + 1, access[0], access[1]]);
      }
    }
    const most = Math.max(1, ...[...counts.values()].map(([count]) => count));
    for (const [position, [count, time, item]] of counts) {
      const recent = Math.max(0, 1 - (this.time - time) / TRAIL);
      pen.globalAlpha = this.shade.value === "count" ? 0.1 + 0.8 * count / most : 0.1 + 0.4 * recent;
      pen.fillStyle = itemColour(item);
      pen.fillRect(...box(position));
    }
  }

  // ---- playing ----

  playOrStop() {
    if (this.timer) return this.stop();
    if (this.time >= this.now.steps - 1) this.go(0);
    const pause = Math.min(400, Math.max(30, 20000 / this.now.steps)); // 20 seconds in all, if it can be
    const stride = Math.max(1, Math.round(this.now.steps * pause / 40000));
    this.playButton.textContent = "Stop";
    this.timer = setInterval(() => {
      this.go(this.time + stride);
      if (this.time >= this.now.steps - 1) this.stop();
    }, pause);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playButton.textContent = "Play";
  }

  key(event) {
    if (this.root.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.matches("select, textarea, input:not([type=range]), [role=tab]")) return;
    if (event.key === " " && target.matches("button")) return; // it is a click
    const last = this.kernels[this.kernel].stages.length - 1;
    const work = {
      " ": () => this.playOrStop(),
      ArrowRight: () => { this.stop(); this.go(this.time + 1); },
      ArrowLeft: () => { this.stop(); this.go(this.time - 1); },
      Home: () => { this.stop(); this.go(0); },
      End: () => { this.stop(); this.go(Infinity); },
      ArrowDown: () => this.showStage(Math.min(last, this.stage + 1)),
      ArrowUp: () => this.showStage(Math.max(0, this.stage - 1)),
    }[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  }
}

/** Kernels in a view; or why there are none. */
function startPlayer(root, kernels) {
  if (typeof kernels !== "string") return new Player(root, kernels);
  root.append(element("p", { class: "note none" }, kernels));
  return null;
}

const player = startPlayer(document.getElementById("kernels"), data.kernels);
