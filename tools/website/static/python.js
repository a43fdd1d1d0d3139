// Python in a worker, which is started when something is first to run, and ended by Stop.
//
// The worker is made of a blob, so that the page's Content-Security-Policy holds in it too: a program that
// runs there can ask for the site's files, and for nobody else's.

const ROOT = new URL(document.documentElement.dataset.content_root || "./", location.href);
const STATIC = new URL("_static/", ROOT);
const NOT_LOADED = "Python could not be loaded: press again when the network is there.";

export class Python {
  constructor(tell) {
    this.tell = tell; // is given a line that says what is being loaded, and "" when all is there
    this.waiting = new Map();
    this.number = 0;
    this.life = 0; // which Python it is, or will be: what ran in an earlier one is gone
    this.ready = null;
  }

  /** Ask the worker; what it prints meanwhile goes to `print`. */
  async call(kind, asked, print = () => {}) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, print });
      this.ready ??= this.start();
      const { ready } = this;
      ready.then(
        (worker) => this.ready === ready && worker.postMessage({ id, kind, asked }),
        (error) => this.ready === ready && this.fail(error),
      );
    });
  }

  async start() {
    const { life } = this;
    this.tell("Loading Python ...");
    const [settings, source] = await Promise.all([
      fetch(new URL("settings.json", STATIC)).then((answer) => answer.json()),
      fetch(new URL("worker.js", STATIC)).then((answer) => answer.text()),
    ]).catch(() => {
      throw new Error(NOT_LOADED);
    });
    if (life !== this.life) throw new Error("stopped");
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(address, { type: "module" });
    this.worker = worker;
    worker.onmessage = ({ data }) => this.worker === worker && this.take(data);
    worker.onerror = (event) => this.worker === worker && this.fail(new Error(event.message || NOT_LOADED));
    const [pyodide, stdlib] = [settings.pyodide, settings.stdlib].map((address) => new URL(address, ROOT).href);
    worker.postMessage({ begin: { ...settings, pyodide, stdlib, site: STATIC.href } });
    return worker;
  }

  take(message) {
    if ("loading" in message) return this.tell(message.loading);
    if ("broken" in message) return this.fail(new Error(message.broken));
    const asked = this.waiting.get(message.id);
    if (!asked) return;
    if ("printed" in message) return asked.print(message.printed);
    this.waiting.delete(message.id);
    if ("failed" in message) asked.reject(new Error(message.failed));
    else asked.resolve(message.answer);
  }

  /** End all that runs. The next request starts Python again. */
  stop(why = "stopped") {
    this.worker?.terminate();
    this.worker = this.ready = null;
    this.life += 1;
    this.tell("");
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const asked of waiting) asked.reject(new Error(why));
  }

  fail(error) {
    const served = location.protocol === "file:" ? " Pages that run need a web server: python -m http.server" : "";
    this.stop(`${error.message}${served}`);
  }
}

export { ROOT, STATIC };
