// The worker in which Python runs: it loads Pyodide, tinyjax and its tests, and answers the page.

let python, here, loaded = 0, expected = 1, asleep = Promise.resolve();
const say = (message) => self.postMessage(message);

function count(bytes) {
  loaded += bytes;
  const share = (n) => (n / 1e6).toFixed(1);
  say({ loading: `Loading Python, once: ${share(loaded)} of ${share(Math.max(loaded, expected))} MB` });
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

async function begin({ pyodide, site, megabytes }) {
  expected = megabytes * 1e6;
  const archive = async (name) => (await fetch(new URL(name, site))).arrayBuffer();
  const [{ loadPyodide }, clone, packages, program] = await Promise.all([
    import(new URL("pyodide.mjs", pyodide).href),
    archive("clone.zip"),
    archive("packages.zip"),
    fetch(new URL("in_worker.py", site)).then((answer) => answer.text()),
  ]);
  python = await loadPyodide({ indexURL: pyodide, fullStdLib: false });
  const known = python.lockfile?.packages ?? {};
  await python.loadPackage(["numpy", "ml_dtypes"].filter((name) => name in known || name === "numpy"), { messageCallback() {} });
  say({ loading: "Starting tinyjax ..." });
  python.unpackArchive(clone, "zip", { extractDir: "/clone" });
  python.unpackArchive(packages, "zip", { extractDir: "/packages" });
  here = python.globals.get("dict")();
  python.runPython(program, { globals: here });
  say({ loading: "" });
}

/** Call the function of in_worker.py; where it says that a package is missing, load it and call again. */
async function answer(kind, asked, print) {
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
