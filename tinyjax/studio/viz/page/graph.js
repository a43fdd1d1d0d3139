// ---- a graph to move about in: drag, wheel, pinch or keys; 0 shows all of it ----

const GRAPH_KEYS = {
  "+": (view) => view.zoom(1.25), "=": (view) => view.zoom(1.25), "-": (view) => view.zoom(0.8), 0: (view) => view.fit(),
  ArrowLeft: (view) => view.pan(-60, 0), ArrowRight: (view) => view.pan(60, 0),
  ArrowUp: (view) => view.pan(0, -60), ArrowDown: (view) => view.pan(0, 60),
};
const POINT = 4 / 3; // pixels, of a picture in its own size

/** Shows a part of an SVG: `fit` all of it, `zoom` around a place, `pan` by pixels. It begins with all of it, not
 * smaller than `smallest` of its size. */
function graphView(svg, smallest) {
  const whole = svg.viewBox.baseVal;
  const size = { width: whole.width, height: whole.height };
  let scale = 0, left = 0, top = 0; // pixels a unit; the unit at the corner
  svg.setAttribute("width", "100%");
  svg.setAttribute("height", "100%");
  svg.setAttribute("preserveAspectRatio", "xMinYMin meet");
  const room = () => svg.getBoundingClientRect();
  const show = () => {
    const { width, height } = room();
    svg.setAttribute("viewBox", `${left} ${top} ${width / scale} ${height / scale}`);
  };
  const view = {
    fit(least = 0) {
      const { width, height } = room();
      scale = Math.max(Math.min(width / size.width, height / size.height, POINT), least * POINT);
      left = Math.min((size.width - width / scale) / 2, 0);
      top = Math.min((size.height - height / scale) / 2, 0);
      show();
    },
    pan(x, y) {
      left += x / scale;
      top += y / scale;
      show();
    },
    zoom(by, x = room().width / 2, y = room().height / 2) {
      const before = scale;
      scale = Math.min(Math.max(scale * by, 0.05), 12);
      left += x / before - x / scale;
      top += y / before - y / scale;
      show();
    },
    /** Brings a node that is out of sight to the middle. */
    reveal(node) {
      const inner = node.getBoundingClientRect(), outer = room();
      if (!outer.width) return;
      const across = inner.left < outer.left || inner.right > outer.right;
      const down = inner.top < outer.top || inner.bottom > outer.bottom;
      view.pan(across && (inner.left + inner.right - outer.left - outer.right) / 2,
        down && (inner.top + inner.bottom - outer.top - outer.bottom) / 2);
    },
    /** After the room for it changed. */
    refresh() {
      if (!room().width) return;
      if (scale) show();
      else view.fit(smallest);
    },
    at(event) {
      return { x: event.clientX - room().left, y: event.clientY - room().top };
    },
  };
  return view;
}

/** Has a box's pointers and keys move the view that `current` gives. */
function moveAbout(box, current) {
  const pointers = new Map();
  let moved = 0;
  box.tabIndex = 0;
  const at = (event) => current().at(event);
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: Math.hypot(a.x - b.x, a.y - b.y) || 1 };
  };
  box.addEventListener("pointerdown", (event) => {
    if (pointers.size === 0) moved = 0;
    pointers.set(event.pointerId, at(event));
  });
  box.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (moved > 4) box.setPointerCapture(event.pointerId); // until then it may be a click on a node
    const pinched = pointers.size === 2 ? spread() : null;
    pointers.set(event.pointerId, now);
    if (pinched) {
      const { x, y, far } = spread();
      current().zoom(far / pinched.far, x, y);
      current().pan(pinched.x - x, pinched.y - y);
    } else if (pointers.size === 1 && moved > 4) {
      current().pan(before.x - now.x, before.y - now.y);
    }
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    box.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    if (event.ctrlKey || event.metaKey) current().zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1, x, y);
    else current().pan(event.deltaX, event.deltaY);
  }, { passive: false });
  box.addEventListener("keydown", (event) => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && GRAPH_KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own keys
    act(current());
  });
  new ResizeObserver(() => current()?.refresh()).observe(box);
}

/** The nodes in which a text stands, lit; none for "". */
function lightNodes(around, text) {
  const wanted = text.trim().toLowerCase();
  return [...around.querySelectorAll(".node")].filter((node) => {
    const says = node.textContent.replace(/\s+/g, " ").toLowerCase();
    return node.classList.toggle("found", Boolean(wanted) && says.includes(wanted));
  });
}
