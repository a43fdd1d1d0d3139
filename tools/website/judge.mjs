// node judge.mjs PYODIDE PACK QUESTIONS: the answers of in_worker.py to questions for the judge, a line each.

import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { opened, unpack } from "./static/unpack.mjs";

const [pyodide, pack, questions] = process.argv.slice(2);
const worker = fs.readFileSync(new URL("static/in_worker.py", import.meta.url), "utf8");
let python, here;

async function begin() {
  const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
  const options = { indexURL: `${pyodide}/`, fullStdLib: false, packages: ["numpy"], env: { HOME: "/home" } };
  python = await loadPyodide({ ...options, stdout() {}, stderr() {} });
  unpack(await opened(new Response(fs.readFileSync(pack))), python.FS);
  here = python.globals.get("dict")();
  python.runPython(worker, { globals: here });
}

await begin();
for (const asked of JSON.parse(fs.readFileSync(questions, "utf8"))) {
  let said;
  try {
    said = here.get("answer")("judge", JSON.stringify(asked), () => {});
    const { missing } = JSON.parse(said);
    if (missing) {
      await python.loadPackage(missing, { messageCallback() {} });
      said = here.get("answer")("judge", JSON.stringify(asked), () => {});
    }
  } catch (error) {
    said = JSON.stringify({ state: "ended", lines: [String(error.message).trim().split("\n").at(-1).slice(0, 300)] });
    await begin(); // as a page does
  }
  console.log(said);
}
process.exit(0); // Pyodide would keep Node waiting
