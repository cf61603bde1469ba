/* Pan and zoom for torchrecorder's pictures. Without this script they are complete, only not movable. */
(() => {
  const ask = (figure) => {
    const svg = figure.querySelector("svg.torchrecorder");
    if (!svg || figure.dataset.zoomable) return;
    figure.dataset.zoomable = "yes";
    const view = svg.viewBox.baseVal, whole = [view.x, view.y, view.width, view.height], touching = new Map();
    const between = (low, value, high) => Math.max(low, Math.min(value, high));
    const show = (x, y, width) => {
      view.width = between(whole[2] / 30, width, whole[2]);
      view.height = view.width * whole[3] / whole[2];
      view.x = between(whole[0], x, whole[0] + whole[2] - view.width);
      view.y = between(whole[1], y, whole[1] + whole[3] - view.height);
      svg.style.touchAction = view.width < whole[2] ? "none" : "pan-x pan-y";
    };
    /* Keeps the point of the page under the pointer where it is; the middle if there is none. */
    const zoom = (by, at) => {
      const box = svg.getBoundingClientRect();
      const fx = at ? (at.x - box.left) / box.width : .5, fy = at ? (at.y - box.top) / box.height : .5;
      const width = between(whole[2] / 30, view.width / by, whole[2]), grown = view.width - width;
      show(view.x + fx * grown, view.y + fy * grown * whole[3] / whole[2], width);
    };
    const move = (dx, dy) => show(view.x + dx * view.width, view.y + dy * view.height, view.width);
    const reset = () => show(whole[0], whole[1], whole[2]);
    const full = () => document.fullscreenElement ? document.exitFullscreen() : figure.requestFullscreen?.();
    const keys = {
      "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), "0": reset, f: full,
      ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1),
    };
    figure.addEventListener("keydown", (event) => {
      const isPan = event.key.startsWith("Arrow") && view.width >= whole[2];
      if (!keys[event.key] || isPan || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
      event.preventDefault();
      keys[event.key]();
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
    }, { passive: false });
    const spread = () => {
      const [a, b] = [...touching.values()];
      return b && { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    svg.addEventListener("pointerdown", (event) => event.button || touching.set(event.pointerId, event));
    svg.addEventListener("pointermove", (event) => {
      const last = touching.get(event.pointerId), before = spread(), box = svg.getBoundingClientRect();
      if (!last) return;
      touching.set(event.pointerId, event);
      const after = spread();
      if (after) zoom(after.far / before.far, after);
      else if (view.width < whole[2]) {
        if (!svg.hasPointerCapture(event.pointerId) && event.pointerType == "mouse") svg.setPointerCapture(event.pointerId);
        move((last.x - event.x) / box.width, (last.y - event.y) / box.height);
      }
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      svg.addEventListener(end, (event) => touching.delete(event.pointerId));
    const tools = document.createElement("div");
    tools.className = "torchrecorder-tools";
    for (const [sign, name, act] of [["+", "Zoom in", keys["+"]], ["−", "Zoom out", keys["-"]], ["↺", "Show all", reset], ["[ ]", "Full screen", full]]) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: sign, title: name, ariaLabel: name, onclick: act });
      tools.append(button);
    }
    figure.prepend(tools);
    reset();
  };
  const all = () => document.querySelectorAll(".torchrecorder-zoom").forEach(ask);
  if (document.readyState == "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
  globalThis.document$?.subscribe(all); /* a page that Material for MkDocs put in place of another */
})();
