// ---- the times: bars on an axis, a lane for the host and one for each queue; and the same as a table ----

const span = Math.max(0, ...data.times.map((event) => event.end));
const percent = (time) => `${(100 * time) / span}%`;

/** A time in the unit that fits it: 8.0 µs, 146 µs, 18.9 ms. */
function micro(time) {
  const [size, unit] = time < 999.5 ? [time, "µs"] : time < 999500 ? [time / 1e3, "ms"] : [time / 1e6, "s"];
  return `${size.toFixed(size >= 99.95 ? 0 : size >= 9.995 || unit === "µs" ? 1 : 2)} ${unit}`;
}

/** What kernels and host steps take together, without those within loops: the sum of the time column. */
const work = data.times.filter((event) => !event.depth).reduce((sum, event) => sum + event.end - event.start, 0);

/** A round number of microseconds, of which four or eight at most are the whole. */
function tickStep() {
  const power = 10 ** Math.floor(Math.log10(span / 8));
  return [1, 2, 5, 10, 20].map((n) => n * power).find((step) => span / step <= (innerWidth < 700 ? 4 : 8));
}

function axis() {
  const made = element("div", { class: "axis", "aria-hidden": "true" });
  for (let time = 0; time <= span; time += tickStep()) {
    const tick = element("span", {}, micro(time));
    tick.style.left = percent(time);
    made.append(tick);
  }
  return made;
}

/** The bars of a lane; what runs within a loop stands below the loop's bar. */
function lane(name, numbers) {
  const track = element("div", { class: "track" });
  const depths = Math.max(...numbers.map((number) => data.times[number].depth)) + 1;
  track.style.height = `${26 * depths}px`;
  for (const number of numbers) {
    const event = data.times[number];
    const bar = element("button", { type: "button", class: "span", tabindex: "-1", title: `${event.name}: ${micro(event.end - event.start)}` }, event.name);
    bar.style.left = percent(event.start);
    bar.style.width = percent(event.end - event.start);
    bar.style.top = `${26 * event.depth}px`;
    bar.addEventListener("click", () => showTime(number));
    track.append(bar);
    spans[number] = bar;
  }
  return element("div", { class: "lane" }, element("h3", {}, name), track);
}

const spans = [];
const timeRows = [];
let shownTime = null;

function timeRow(event, number) {
  const cells = [event.name, micro(event.start), micro(event.end - event.start),
    event.waited === null ? "" : micro(event.waited),
    event.bytes && event.end > event.start ? `${(event.bytes / (event.end - event.start) / 1e3).toFixed(1)} GB/s` : "", event.primitives];
  const line = element("button", { type: "button", class: "line" }, cells[0]);
  line.addEventListener("click", () => showTime(number));
  return element("tr", {}, element("th", { scope: "row" }, line), ...cells.slice(1).map((text) => element("td", {}, text)));
}

function showTime(number) {
  for (const old of shownTime === null ? [] : [spans[shownTime], timeRows[shownTime]]) old.classList.remove("here");
  shownTime = number;
  spans[number].classList.add("here");
  timeRows[number].classList.add("here");
  spans[number].scrollIntoView({ block: "nearest", inline: "nearest" });
}

function drawTimes() {
  const root = document.getElementById("times");
  if (!data.times.length) {
    root.append(element("p", { class: "note" }, "Nothing runs: what the function gives is known when it is compiled."));
    return;
  }
  const lanes = new Map(); // to the numbers of what ran there
  data.times.forEach((event, number) => lanes.set(event.lane, [...(lanes.get(event.lane) ?? []), number]));
  const chart = element("div", { class: "chart" }, axis(), ...[...lanes].map(([name, numbers]) => lane(name, numbers)));
  timeRows.push(...data.times.map(timeRow));
  const heads = ["what ran", "began", "took", "waited in the queue", "memory", "operations"];
  const table = element("table", { class: "runs" },
    element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...timeRows));
  root.append(element("div", { class: "when" },
    element("section", { class: "part", "aria-label": "What ran when" }, element("h2", {}, `One compiled call: ${micro(span)}, of which kernels and NumPy take ${micro(work)}`), chart),
    element("section", { class: "part", "aria-label": "Each launch and step" }, element("h2", {}, "Each launch and step"), element("div", { class: "scroll" }, table))));
}

drawTimes();
