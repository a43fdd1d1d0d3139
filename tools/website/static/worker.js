// The worker in which Python runs: it loads Pyodide, tinyjax and its tests, and answers the page.

let python, PythonError, here, toJudge, svgOf, received = 0, expected = 1, asleep = Promise.resolve();
const say = (message) => self.postMessage(message);
const sayNotLoaded = ({ message }) => say({ broken: `Python could not be loaded: ${message}. Press again when the network is there.` });

function count(bytes) {
  received += bytes;
  const share = (n) => (n / 1e6).toFixed(1);
  say({ loading: `Loading Python, once: ${share(received)} of ${share(Math.max(received, expected))} MB` });
}

// Counts what is loaded, for the page to show.
const fetched = self.fetch;
self.fetch = async (...asked) => {
  const answer = await fetched(...asked);
  // A browser keeps what it has compiled of WebAssembly only for an answer that comes as it was sent.
  const isProgram = answer.url.endsWith(".wasm");
  if (isProgram) count(Number(answer.headers.get("Content-Length")) || 0);
  if (!answer.ok || !answer.body || isProgram) return answer;
  const counter = new TransformStream({
    transform(part, out) {
      count(part.byteLength);
      out.enqueue(part);
    },
  });
  const { status, statusText, headers } = answer;
  return new Response(answer.body.pipeThrough(counter), { status, statusText, headers });
};

// Compiling of WebAssembly that fails, as when the network goes, would leave Pyodide waiting.
const streaming = WebAssembly.instantiateStreaming;
WebAssembly.instantiateStreaming = async (...asked) => {
  try {
    return await streaming.apply(WebAssembly, asked);
  } catch (error) {
    sayNotLoaded(error);
    throw error;
  }
};

async function begin({ pyodide, stdlib, packages, site, megabytes }) {
  expected = megabytes * 1e6;
  const [{ loadPyodide }, { opened, unpack }, program] = await Promise.all([
    import(new URL("pyodide.mjs", pyodide).href),
    import(new URL("unpack.mjs", site).href),
    fetch(new URL("in_worker.py", site)).then((answer) => answer.text()),
  ]);
  const pack = (name) => opened(fetch(new URL(name, site)));
  const [lessons, loaded] = await Promise.all([
    pack("lessons.pack"),
    loadPyodide({ indexURL: pyodide, stdLibURL: stdlib, fullStdLib: false, packages }),
  ]);
  python = loaded;
  ({ PythonError } = python.ffi);
  const lost = packages.filter((name) => !(name in python.loadedPackages)); // which Pyodide only logs
  if (lost.length) throw new Error(`${lost.join(" and ")} did not come`);
  say({ loading: "Starting tinyjax ..." });
  unpack(lessons, python.FS);
  python.FS.chdir("/clone"); // commands name files from there
  toJudge = async () => unpack(await pack("judge.pack"), python.FS);
  here = python.globals.get("dict")();
  python.runPython(program, { globals: here });
  say({ loading: "" });
}

class NotLoaded extends Error {}

/** What is loaded when it is first needed. If it cannot be, Python and what it knows stay as they are. */
async function needed(what, loading) {
  try {
    return await loading;
  } catch {
    throw new NotLoaded(`${what} could not be loaded: press again when the network is there.`);
  }
}

/** Call the function of in_worker.py; where it says that a package is missing, load it and call again. */
async function answer(kind, asked, print) {
  if (["judge", "pack", "unpack"].includes(kind)) {
    await needed("What judges exercises", toJudge?.());
    toJudge = null;
  }
  if (kind === "explain" || kind === "command" || asked.text?.includes("viz.")) await prepareToDraw();
  const found = JSON.parse(here.get("answer")(kind, JSON.stringify(asked), print));
  if (!found.missing) return found;
  await needed(found.missing, load(found.missing));
  print(null); // what was printed is printed again
  return JSON.parse(here.get("answer")(kind, JSON.stringify(asked), print));
}

async function load(name) {
  say({ loading: `Loading ${name} ...` });
  await python.loadPackage(name, { messageCallback() {}, errorCallback() {} });
  say({ loading: "" });
  if (!(name in python.loadedPackages)) throw new Error(name);
}

/** Load what draws graphs; Python's own drawing uses it, too. */
async function prepareToDraw() {
  if (svgOf) return;
  const { instance } = await needed("What draws graphs", import(new URL("viz.js", site).href));
  const viz = await instance();
  svgOf = (graph) => viz.renderString(graph, { format: "svg" });
  here.get("draw_by")(svgOf);
}

/** The pictures of graphs, each as the text of an SVG. */
async function draw(found) {
  if (!found.graphs?.length) return found;
  await prepareToDraw();
  try {
    return { ...found, pictures: found.graphs.map(svgOf) };
  } catch (error) {
    return { ...found, error: `The graph could not be drawn: ${error.message}` };
  }
}

let site;
self.onmessage = ({ data }) => {
  asleep = asleep.then(async () => {
    if (data.begin) {
      site = data.begin.site;
      try {
        await begin(data.begin);
      } catch (error) {
        sayNotLoaded(error);
      }
      return;
    }
    const { id, kind, asked } = data;
    try {
      const found = await answer(kind, asked, (printed) => say({ id, printed }));
      say({ id, answer: await draw(found) });
    } catch (error) {
      // A PythonError is Python's answer; all else, as a stack of the engine that is full, is its end.
      if (error instanceof NotLoaded) say({ id, failed: error.message });
      else if (error instanceof PythonError) say({ id, failed: error.message.trim().split("\n").at(-1) });
      else say({ broken: "Python itself stopped: does the program exit, or is there a call of itself without an end? It starts again at the next press." });
    }
  });
};
