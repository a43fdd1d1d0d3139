// The worker in which Python runs: it loads Pyodide, tinyjax and its tests, and answers the page.

let python, here, toJudge, received = 0, expected = 1, asleep = Promise.resolve();
const say = (message) => self.postMessage(message);

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
  say({ loading: "Starting tinyjax ..." });
  unpack(lessons, python.FS);
  toJudge = async () => unpack(await pack("judge.pack"), python.FS);
  here = python.globals.get("dict")();
  python.runPython(program, { globals: here });
  say({ loading: "" });
}

/** Call the function of in_worker.py; where it says that a package is missing, load it and call again. */
async function answer(kind, asked, print) {
  if (kind !== "cell" && kind !== "explain") {
    await toJudge?.();
    toJudge = null;
  }
  for (let tries = 0; ; tries++) {
    const text = here.get("answer")(kind, JSON.stringify(asked), print);
    const found = JSON.parse(text);
    if (!found.missing || tries > 2) return found;
    say({ loading: `Loading ${found.missing} ...` });
    await python.loadPackage(found.missing, { messageCallback() {} });
    say({ loading: "" });
  }
}

/** The pictures of graphs, each as the text of an SVG. */
async function draw(found, site) {
  if (!found.graphs?.length) return found;
  const { instance } = await import(new URL("viz.js", site).href);
  const viz = await instance();
  const pictures = found.graphs.map((graph) => {
    try {
      return viz.renderString(graph, { format: "svg" });
    } catch (error) {
      return "";
    }
  });
  return { ...found, pictures };
}

let site;
self.onmessage = ({ data }) => {
  asleep = asleep.then(async () => {
    if (data.begin) {
      site = data.begin.site;
      try {
        await begin(data.begin);
      } catch (error) {
        say({ broken: `Python could not be loaded: ${error.message}` });
      }
      return;
    }
    const { id, kind, asked } = data;
    try {
      const found = await answer(kind, asked, (printed) => say({ id, printed }));
      say({ id, answer: await draw(found, site) });
    } catch (error) {
      // A PythonError is Python's answer; all else, as a stack of the engine that is full, is its end.
      if (error instanceof python.ffi.PythonError) say({ id, failed: error.message.trim().split("\n").at(-1) });
      else say({ broken: "Python itself stopped: is there a call of itself without an end? It starts anew at the next press." });
    }
  });
};
