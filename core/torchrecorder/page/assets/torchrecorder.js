/* Pan and zoom for pictures, which are complete without. */
(() => {
  const equip = (picture) => {
    const svg = picture.querySelector("svg");
    if (!svg || picture.dataset.ready) return;
    picture.dataset.ready = 1;
    const view = svg.viewBox.baseVal, { x: left, y: top, width: wide, height: high } = view, fingers = new Map();
    const between = (low, value, up) => Math.max(low, Math.min(value, up));
    const isZoomed = () => view.width < wide;
    const show = (x, y, width) => {
      view.width = between(wide / 30, width, wide);
      view.height = view.width * high / wide;
      view.x = between(left, x, left + wide - view.width);
      view.y = between(top, y, top + high - view.height);
      picture.classList.toggle("torchrecorder-zoomed", isZoomed());
    };
    /* Around the pointer, or the middle */
    const zoom = (by, at) => {
      const box = svg.getBoundingClientRect();
      const fx = at ? (at.x - box.left) / box.width : .5, fy = at ? (at.y - box.top) / box.height : .5;
      const grown = view.width - between(wide / 30, view.width / by, wide);
      show(view.x + fx * grown, view.y + fy * grown * high / wide, view.width - grown);
    };
    const move = (dx, dy) => show(view.x + dx * view.width, view.y + dy * view.height, view.width);
    const whole = () => show(left, top, wide);
    /* The colour behind the picture */
    const paper = () => {
      for (let at = picture.parentElement; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (!/^rgba.*, 0\)$/.test(colour)) return colour;
      }
      return "Canvas";
    };
    const full = () => {
      if (document.fullscreenElement) return document.exitFullscreen();
      picture.style.background = paper();
      return picture.requestFullscreen();
    };
    const open = () => {
      const copy = svg.cloneNode(true), put = (to, name, value) => to.setAttribute(name, value);
      put(copy, "viewBox", [left, top, wide, high].join(" "));
      put(copy, "style", `color:${getComputedStyle(svg).color};background:${paper()};min-width:${wide * 4 / 3}px`);
      copy.querySelectorAll("a").forEach((a) => put(a, "xlink:href", new URL(a.href.baseVal, document.baseURI)));
      window.open(URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" })));
    };
    const closer = () => zoom(1.3), farther = () => zoom(1 / 1.3), keys = {
      "+": closer, "=": closer, "-": farther, 0: whole, f: full,
      ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1),
    };
    picture.addEventListener("keydown", (event) => {
      const { key } = event;
      if (!keys[key] || key[0] == "A" && !isZoomed() || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[key]();
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
    }, { passive: false });
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return b && { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    svg.addEventListener("pointerdown", (event) => event.button || fingers.set(event.pointerId, event));
    svg.addEventListener("pointermove", (event) => {
      const { pointerId } = event, last = fingers.get(pointerId), before = spread(), box = svg.getBoundingClientRect();
      if (!last) return;
      fingers.set(pointerId, event);
      const after = spread();
      if (after) zoom(after.far / before.far, after);
      else if (isZoomed()) {
        svg.setPointerCapture(pointerId); /* no click on a link */
        move((last.x - event.x) / box.width, (last.y - event.y) / box.height);
      }
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      svg.addEventListener(end, (event) => fingers.delete(event.pointerId));
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    const tools = document.createElement("div");
    tools.className = "torchrecorder-tools";
    for (const [sign, title, onclick] of [["+", "Zoom in", closer], ["−", "Zoom out", farther],
      ["↺", "Show all", whole], ["⤢", "Full screen", full], ["↗", "Open SVG", open]]) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: sign, title, ariaLabel: title, onclick });
      tools.append(button);
    }
    picture.prepend(tools);
    whole();
  };
  const all = () => document.querySelectorAll(".torchrecorder-zoom").forEach(equip);
  if (document.readyState == "loading") addEventListener("DOMContentLoaded", all);
  else all();
  globalThis.document$?.subscribe(all); /* Material for MkDocs put in another page */
})();
