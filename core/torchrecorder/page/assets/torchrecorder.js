{
  const between = (...values) => values.sort((a, b) => a - b)[1];
  const make = (tag, fields = {}, ...children) => {
    const it = Object.assign(document.createElement(tag), fields);
    it.append(...children);
    return it;
  };
  const all = (at, selector) => [...at.querySelectorAll(selector)];
  let words;
  const _ = (text, ...facts) => (words[text] ?? text).replace(/{}/g, () => facts.shift());
  const button = (text, onclick, title = text) =>
    make("button", { type: "button", title: _(title), ariaLabel: _(title), textContent: _(text), onclick });
  const above = (path) => path.replace(/(^|[./~])[^./~]*$/, "");
  const focusable = (node) => node.closest("a") ?? node;
  const paper = (at) => {
    const colour = at ? getComputedStyle(at).backgroundColor : "Canvas";
    return /^rgba.*, 0\)$/.test(colour) ? paper(at.parentElement) : colour;
  };

  const cameraOf = (svg) => {
    const frame = svg.parentElement, rest = svg.style.cssText, view = svg.getAttribute("viewBox");
    const [left, top, wide, high] = view.split(" ").map(Number);
    let scale, least, restHeight, x, y;
    const isFull = () => document.fullscreenElement?.contains(svg);
    const show = () => {
      frame.classList.add("torchrecorder-zoomed");
      const tall = isFull() ? "100%" : `max(${restHeight}px,min(75vh,${high * scale}px))`;
      svg.style.cssText = "width:100%;min-width:0;height:" + tall;
      const box = svg.getBoundingClientRect(), w = box.width / scale, h = box.height / scale;
      x = between(left + w / 2, x, left + wide - w / 2);
      y = between(top + h / 2, y, top + high - h / 2);
      svg.setAttribute("viewBox", [x - w / 2, y - h / 2, w, h]);
    };
    const lay = () => {
      scale = 0;
      frame.classList.remove("torchrecorder-zoomed");
      svg.style.cssText = rest;
      svg.setAttribute("viewBox", view);
    };
    const fit = (isWide) => {
      const across = Math.min(frame.clientWidth / wide, 8 / 3);
      least = Math.min(across, frame.clientHeight / high);
      scale = isWide ? across : least;
      x = left + wide / 2;
      y = top + Math.min(high, frame.clientHeight / scale) / 2;
      show();
    };
    const pointAt = ({ x, y }) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
    const zoom = (by, at) => {
      const box = svg.getBoundingClientRect();
      at ??= { x: box.x + box.width / 2, y: (Math.max(box.y, 0) + Math.min(box.bottom, innerHeight)) / 2 };
      const before = pointAt(at);
      if (!scale) [least, restHeight] = [svg.getScreenCTM().a, box.height];
      scale = Math.min((scale || least) * by, 20);
      if (scale <= least * 1.001) return isFull() ? fit() : lay();
      show();
      const after = pointAt(at);
      x += before.x - after.x;
      y += before.y - after.y;
      show();
    };
    const move = (dx, dy) => {
      x += dx / scale;
      y += dy / scale;
      show();
    };
    const reveal = (node) => {
      const box = node.getBBox();
      if (scale) [x, y] = [box.x + box.width / 2, box.y + box.height / 2], show();
      if (!isFull()) node.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    new ResizeObserver(() => {
      if (!svg.checkVisibility()) return;
      if (scale) show();
      else if (isFull()) fit(true);
    }).observe(frame);

    svg.addEventListener("wheel", (event) => {
      const isZoom = event.ctrlKey || event.metaKey;
      if (!isZoom && !isFull()) return;
      event.preventDefault();
      if (isZoom) zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
      else move(event.deltaX, event.deltaY);
    }, { passive: false });
    const fingers = new Map();
    const far = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
    const spread = () => {
      const [a, b] = fingers.values();
      return b && { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: far(a, b) };
    };
    svg.addEventListener("pointerdown", (event) => event.button || fingers.set(event.pointerId, event));
    svg.addEventListener("pointermove", (event) => {
      const { pointerId } = event, last = fingers.get(pointerId), before = spread();
      if (!last || far(event, last) < 3 && !svg.hasPointerCapture(pointerId)) return;
      fingers.set(pointerId, event);
      const after = spread();
      if (after) zoom(after.far / before.far, after);
      else if (scale) {
        svg.setPointerCapture(pointerId); /* no click */
        move(last.x - event.x, last.y - event.y);
      }
    });
    for (const end of ["pointerup", "pointerleave"]) svg.addEventListener(end, (event) => fingers.delete(event.pointerId));
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    return { lay, zoom, move, reveal, moves: () => scale };
  };

  const vectors = ({ svg, copy }) => {
    const style = getComputedStyle(svg), { width, height } = copy.viewBox.baseVal;
    for (const { href } of all(copy, "[*|href]")) href.baseVal = new URL(href.baseVal, document.baseURI);
    copy.style.cssText = `color:${style.color};background:${paper(svg)}`;
    copy.setAttribute("width", width + "pt");
    copy.setAttribute("height", height + "pt");
    const text = new XMLSerializer().serializeToString(copy)
      .replace(/var\((--[\w-]+),(#\w+)\)/g, (_, name, usual) => style.getPropertyValue(name) || usual);
    return new Blob([text], { type: "image/svg+xml" });
  };
  const pixels = async (blob) => {
    const image = make("img", { src: URL.createObjectURL(blob) });
    await image.decode();
    const { width, height } = image, by = Math.min(2, 8192 / width, 8192 / height);
    const canvas = make("canvas", { width: width * by, height: height * by });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done));
  };

  const copyInside = (svg, n) => {
    const other = document.getElementById(svg.dataset.same), [from, to] = [other, svg].map((it) => it.closest(".torchrecorder-zoom").id);
    const own = (text, before) => text.replaceAll(before + from, before + to);
    svg.parentElement.outerHTML = ['id="', '"#'].reduce(own, other.parentElement.outerHTML).replace(/tr-[0-9a-f]{12}/g, `$&${n}`);
  };

  const equip = (views) => {
    views.dataset.ready = 1;
    const pictures = all(views, "svg.torchrecorder").map((svg) => {
      const rows = JSON.parse(svg.parentElement.dataset.details), row = (node) => rows[node.dataset.n];
      for (const node of all(svg, "[data-n]")) if (!row(node)) delete node.dataset.n;
      const copy = svg.cloneNode(true);
      copy.insertAdjacentHTML("beforeend", svg.parentElement.dataset.foot ?? "");
      copy.viewBox.baseVal.height += 10 * all(copy, ".foot *").length;
      return { svg, row, nodes: all(svg, "[data-n]"), copy, camera: cameraOf(svg) };
    });
    const shown = () => pictures.find(({ svg }) => svg.checkVisibility()) ?? pictures[0];
    const holding = (node) => pictures.find(({ svg }) => svg.contains(node));
    const pathOf = (node) => holding(node).row(node)[0];
    let current, isPinned, timer, pointer, kept;

    const panel = make("div", { className: "torchrecorder-panel", hidden: true, tabIndex: -1, id: views.id + "?", role: "region", ariaLabel: _("Details") });
    const code = JSON.parse(views.dataset.code ?? "{}");
    const describe = ([path = "", Class, Settings, Parameters, FLOPs, Output, into, at, times, Parts, Notes]) => {
      const Source = code[at] ? make("a", { href: code[at] }, at) : at;
      const [name, In] = path.split("/").reverse(), list = make("dl"), Input = Class && (into || Output), Repeats = times && "×" + times;
      const facts = { In, Class, Settings, Parameters, FLOPs, Input, Output, Source, Repeats, Parts, Notes };
      for (const fact in facts) if (facts[fact]) list.append(make("dt", {}, _(fact)), make("dd", {}, facts[fact]));
      return [make("strong", {}, name || _("all")), list];
    };
    const place = () => {
      const frame = views.getBoundingClientRect(), box = current.getBoundingClientRect();
      const w = panel.offsetWidth, h = panel.offsetHeight, gap = 10;
      let x = box.right + gap, y = box.top;
      if (x + w > innerWidth - 20) x = box.left - gap - w;
      if (x < Math.max(frame.left, 0)) [x, y] = [between(frame.left, box.left, frame.right - w), box.bottom + gap];
      y = between(8, y, innerHeight - h - 8);
      panel.style.cssText = `background:${paper(views)};left:${x - frame.left}px;top:${y - frame.top}px`;
    };
    const clear = () => {
      clearTimeout(timer);
      panel.hidden = true;
      if (!current) return;
      const { svg, nodes } = holding(current);
      svg.querySelector(".torchrecorder-lit")?.remove();
      for (const node of nodes) node.classList.remove("torchrecorder-here", "torchrecorder-near");
      focusable(current).removeAttribute("aria-describedby");
      current = isPinned = null;
    };
    const tell = (node, pin) => {
      clear();
      [current, isPinned] = [node, pin];
      const { svg, nodes, row } = holding(node), link = node.closest("a"), key = node.dataset.n, keys = [], lines = [];
      const lit = document.createElementNS(svg.namespaceURI, "path");
      const opening = link ? make("a", { href: link.href.baseVal }, _(link.matches(".door") ? "Open" : "Documentation")) : "";
      panel.replaceChildren(...describe(row(node)), make("p", {}, opening, button("Copy link", copy), button("Close", leave)));
      panel.hidden = false;
      place();
      for (const group of all(svg, "[data-ends]")) {
        const [curves, arrows] = [...group.children].map((it) => it.getAttribute("d").match(/M[^M]*/g) ?? []);
        for (const ends of group.dataset.ends.split(",")) {
          const [tail, head, parts = 1, tips = 1] = ends.split(" "), own = [...curves.splice(0, parts), ...arrows.splice(0, tips)];
          if (tail == key || head == key) keys.push(tail, head), lines.push(...own);
        }
      }
      for (const it of nodes) it.classList.toggle("torchrecorder-near", it != node && keys.includes(it.dataset.n));
      node.classList.add("torchrecorder-here");
      focusable(node).setAttribute("aria-describedby", panel.id);
      lit.classList.add("torchrecorder-lit");
      lit.setAttribute("d", lines.join(""));
      svg.querySelector(".nodes").before(lit);
    };
    const leave = () => {
      if (panel.contains(document.activeElement)) focusable(current).focus();
      clear();
    };
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => isPinned || panel.matches(":hover, :focus-within") || clear(), 250);
    };
    const nodeAt = (target) => target.closest("[data-n]") ?? target.closest("a")?.querySelector("[data-n]");
    panel.addEventListener("pointerleave", later);

    const message = make("output");
    const say = (...text) => message.value = _(...text);
    const copy = async () => {
      const id = current ? views.id + pathOf(current) : shown().svg.closest(".torchrecorder-inside, .torchrecorder-zoom").id;
      const { href } = new URL("#" + id, location);
      try {
        await navigator.clipboard.writeText(href);
        say("Link copied");
      } catch {
        say(href);
      }
    };
    const filtered = (test) => [...new Set([shown(), ...pictures])].flatMap(({ nodes, row }) => nodes.filter((node) => test(...row(node))));
    const expose = (svg) => all(views, ".torchrecorder-inside").forEach((it) => it.classList.toggle("torchrecorder-shown", it.contains(svg)));
    const go = (node) => {
      const { svg, camera } = holding(node), depth = svg.closest(".torchrecorder-depth");
      expose(svg);
      if (depth) all(views, "[type=radio]")[all(views, ".torchrecorder-depth").indexOf(depth)].checked = true;
      camera.reveal(node);
      tell(node, true);
    };
    const route = () => {
      let id = location.hash.slice(1);
      try { id = decodeURIComponent(id); } catch {}
      expose(null);
      clear();
      if (kept) scrollBy({ top: views.getBoundingClientRect().top - kept, behavior: "instant" });
      kept = 0;
      if (!id.startsWith(views.id) || id.endsWith("/") && document.getElementById(id)) return;
      let path = id.slice(views.id.length), node;
      for (; path && !node; path = above(path)) [node] = filtered((own) => own == path);
      if (node) go(node);
    };
    views.addEventListener("click", (event) => {
      const { href } = event.target.closest("a") ?? {};
      if (href) event.stopPropagation();
      if ((href?.baseVal ?? href)?.endsWith("/")) kept = Math.max(views.getBoundingClientRect().top, 70);
    });

    let hits = [], hit;
    const field = make("input", { type: "search", placeholder: _("Find layer") });
    field.ariaLabel = field.placeholder;
    const search = () => {
      let word = field.value.trim().toLowerCase();
      for (hits = []; word && !hits.length; word = above(word))
        hits = filtered((path, Class) => path && [path, Class].join(" ").toLowerCase().includes(word));
      hit = -1;
      for (const node of all(views, "[data-n]")) node.classList.toggle("torchrecorder-found", hits.includes(node));
      say(field.value && "{} found", hits.length);
    };
    field.addEventListener("input", search);
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key == "Escape") field.value = "", search(), clear();
      if (event.key != "Enter" || !hits.length) return;
      event.preventDefault();
      const next = hits[hit = (hit + 1) % hits.length];
      if (views.querySelector(":target")) location.hash = views.id + pathOf(next);
      go(next);
      field.focus();
      say("{} of {}", hit + 1, hits.length);
    });

    const full = () => {
      if (document.fullscreenElement) return document.exitFullscreen();
      views.style.background = paper(views.parentElement);
      return views.requestFullscreen();
    };
    const rest = () => {
      clear();
      for (const { camera } of pictures) camera.lay();
    };
    views.addEventListener("fullscreenchange", rest);
    const save = async ({ target: { textContent: kind } }) => {
      try {
        const file = vectors(shown()), href = URL.createObjectURL(kind == "PNG" ? await pixels(file) : file);
        make("a", { href, download: `${views.id.slice(0, -1)}.${kind.toLowerCase()}` }).click();
      } catch {
        say("This page does not allow it");
      }
    };
    const zoom = (by) => () => shown().camera.zoom(by), closer = zoom(1.3), farther = zoom(1 / 1.3), whole = zoom(0);
    const walk = (node, by) => {
      const { nodes, camera } = holding(node), next = nodes[nodes.indexOf(node) + by] ?? node;
      focusable(next).focus({ focusVisible: true });
      camera.reveal(next);
      tell(next);
    };
    const steps = { ArrowLeft: [-80, 0], ArrowUp: [0, -80], ArrowRight: [80, 0], ArrowDown: [0, 80] };
    const keys = { "+": closer, "=": closer, "-": farther, 0: whole, f: full };
    views.addEventListener("keydown", (event) => {
      const { key, target } = event, node = nodeAt(target), step = steps[key], { camera } = shown();
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("[type=radio]")) return;
      if (keys[key]) keys[key]();
      else if (key == "Escape" && current) leave();
      else if (node && step) walk(node, Math.sign(step[0] + step[1]));
      else if (node && (key == " " || key == "Enter" && !node.closest("a"))) tell(node, true), panel.focus();
      else if (step && camera.moves() && !panel.contains(target)) camera.move(...step);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const about = views.querySelector("summary"), help = about ? [button("?", () => (about.click(), about.focus()), "About this picture")] : [];
    views.querySelector(".torchrecorder-tools")?.append(field, message, button("+", closer, "Zoom in"), button("−", farther, "Zoom out"), button("↺", whole, "Show all"),
      button("⤢", full, "Full screen"), button("link", copy, "Copy link"), button("SVG", save, "Save SVG"), button("PNG", save, "Save PNG"), ...help);
    views.append(panel);
    for (const { svg, nodes } of pictures) {
      if (nodes.length) svg.role = "group";
      const bare = nodes.filter((node) => !node.closest("a"));
      const rove = (to) => bare.forEach((node) => Object.assign(node, { role: "button", tabIndex: node == to ? 0 : -1 }));
      rove(bare[0]);
      svg.addEventListener("pointerover", (event) => {
        const node = nodeAt(event.target);
        if (event.pointerType == "touch" || isPinned) return;
        if (!node) return later();
        clearTimeout(timer);
        if (node != current) tell(node);
      });
      svg.addEventListener("pointerleave", later);
      svg.parentElement.addEventListener("focusout", later); /* an SVG with it takes the focus */
      svg.parentElement.addEventListener("focusin", (event) => {
        const node = nodeAt(event.target);
        if (bare.includes(node)) rove(node);
        if (node && node != current && event.target.matches(":focus-visible")) tell(node);
      });
      svg.addEventListener("pointerdown", (event) => pointer = event.pointerType);
      svg.addEventListener("click", (event) => {
        const node = nodeAt(event.target), isTap = pointer == "touch" && event.detail;
        if (!node) return clear();
        if (node.closest("a") && (!isTap || node == current && isPinned)) return;
        event.preventDefault();
        if (node == current && isPinned) clear();
        else tell(node, true);
      });
    }
    addEventListener("hashchange", route);
    addEventListener("beforeprint", rest);
    route();
  };
  const start = () => {
    words = JSON.parse(document.querySelector("[data-words]")?.dataset.words ?? "{}");
    all(document, "[data-same]").forEach(copyInside);
    all(document, ".torchrecorder-zoom:not([data-ready])").forEach(equip);
  };
  start();
  /* Material's first popstate loads anew */
  const { document$, location$ } = globalThis, { pathname } = location;
  document$?.subscribe(start);
  if (location$) location$.next = (url) => {
    if (event?.type == "popstate" && url.pathname == pathname) return;
    delete location$.next;
    location$.next(url);
  };
}
