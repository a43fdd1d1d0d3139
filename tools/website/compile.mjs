// node compile.mjs PYODIDE PACK PROGRAM OUT: run a program in Pyodide, and keep what Python compiled for it.

import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { opened, unpack } from "./static/unpack.mjs";

const [pyodide, pack, program, out] = process.argv.slice(2);
process.on("uncaughtException", (error) => {
  console.error(String(error.message).trim().split("\n").at(-1));
  process.exit(1);
});
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const options = { indexURL: `${pyodide}/`, fullStdLib: false, packages: ["numpy"], env: { HOME: "/home" } };
const python = await loadPyodide({ ...options, stdout() {} });
unpack(await opened(new Response(fs.readFileSync(pack))), python.FS);
python.FS.mkdirTree("/out");
python.FS.mount(python.FS.filesystems.NODEFS, { root: out }, "/out");
for (const file of [program, new URL("keep_compiled.py", import.meta.url)]) {
  python.runPython(fs.readFileSync(file, "utf8"), { globals: python.toPy({ __name__: "__main__" }) });
}
process.exit(0); // Pyodide would keep Node waiting
