/* What readers can do with pictures */
(() => {
  const FULL = 8 / 3; /* CSS pixels */
  const between = (a, value, b) => [a, value, b].sort((p, q) => p - q)[1];
  const make = (tag, fields = {}, ...children) => {
    const it = Object.assign(document.createElement(tag), fields);
    it.append(...children);
    return it;
  };
  const put = (element, facts) => {
    for (const name in facts) element.setAttribute(name, facts[name]);
    return element;
  };
  let words; /* of the page's language, by those of English */
  const _ = (text, ...facts) => facts.reduce((filled, fact) => filled.replace("{}", fact), words[text] ?? text);
  const button = (text, onclick, title = text) =>
    make("button", { type: "button", title: _(title), ariaLabel: _(title), textContent: _(text), onclick });
  const above = (path) => path.replace(/(^|[./~])[^./~]*$/, "");
  const isSeen = (element) => element.getClientRects().length;
  const focusable = (node) => node.closest("a") ?? node;
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/^rgba.*, 0\)$/.test(colour)) return colour;
    }
    return "Canvas";
  };

  /* The part of a picture that is seen */
  const watch = (svg) => {
    const frame = svg.parentElement, view = svg.viewBox.baseVal, { x: left, y: top, width: wide, height: high } = view;
    const rest = svg.style.cssText;
    let scale = 0, least = 0, restHeight = 0, x = 0, y = 0;
    const isFull = () => !!document.fullscreenElement?.contains(svg);
    const show = () => {
      frame.classList.add("torchrecorder-zoomed");
      const tall = isFull() ? "100%" : `${Math.max(restHeight, Math.min(.75 * innerHeight, high * scale))}px`;
      svg.style.cssText = `width:100%;min-width:0;height:${tall}`;
      const box = svg.getBoundingClientRect(), w = box.width / scale, h = box.height / scale;
      x = between(left + w / 2, x, left + wide - w / 2);
      y = between(top + h / 2, y, top + high - h / 2);
      Object.assign(view, { x: x - w / 2, y: y - h / 2, width: w, height: h });
    };
    const lay = () => {
      scale = 0;
      frame.classList.remove("torchrecorder-zoomed");
      svg.style.cssText = rest;
      Object.assign(view, { x: left, y: top, width: wide, height: high });
    };
    const fit = (isWide) => {
      const across = Math.min(frame.clientWidth / wide, FULL);
      least = Math.min(across, frame.clientHeight / high);
      scale = isWide ? across : least;
      x = left + wide / 2;
      y = top + Math.min(high, frame.clientHeight / scale) / 2;
      show();
    };
    const whole = () => isFull() ? fit() : lay();
    const zoom = (by, at) => {
      let box = svg.getBoundingClientRect();
      at ??= { x: box.x + box.width / 2, y: (Math.max(box.y, 0) + Math.min(box.bottom, innerHeight)) / 2 };
      const matrix = svg.getScreenCTM(), point = new DOMPoint(at.x, at.y).matrixTransform(matrix.inverse());
      if (!scale) [least, restHeight] = [matrix.a, box.height];
      scale = Math.min((scale || least) * by, 20);
      if (scale <= least * 1.001) return whole();
      show();
      box = svg.getBoundingClientRect();
      x = point.x - (at.x - box.x - box.width / 2) / scale;
      y = point.y - (at.y - box.y - box.height / 2) / scale;
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
      if (isSeen(svg) && (scale || isFull())) scale ? show() : fit(true);
    }).observe(frame);

    svg.addEventListener("wheel", (event) => {
      const isZoom = event.ctrlKey || event.metaKey;
      if (!isZoom && !isFull()) return;
      event.preventDefault();
      if (isZoom) zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
      else move(event.deltaX, event.deltaY);
    }, { passive: false });
    const fingers = new Map();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return b && { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    svg.addEventListener("pointerdown", (event) => event.button || fingers.set(event.pointerId, event));
    svg.addEventListener("pointermove", (event) => {
      const { pointerId } = event, last = fingers.get(pointerId), before = spread();
      if (!last || Math.hypot(event.x - last.x, event.y - last.y) < 3 && !svg.hasPointerCapture(pointerId)) return;
      fingers.set(pointerId, event);
      const after = spread();
      if (after) zoom(after.far / before.far, after);
      else if (scale) {
        svg.setPointerCapture(pointerId); /* no click */
        move(last.x - event.x, last.y - event.y);
      }
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      svg.addEventListener(end, (event) => fingers.delete(event.pointerId));
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    return { lay, whole, zoom, move, reveal, moves: () => scale };
  };

  /* Files */
  const vectors = ({ svg, copy }) => {
    const style = getComputedStyle(svg), { width, height } = copy.viewBox.baseVal, of = (_, name, usual) => style.getPropertyValue(name) || usual;
    for (const a of copy.querySelectorAll("a:not([data-class])")) a.setAttribute("xlink:href", new URL(a.href.baseVal, document.baseURI));
    put(copy, { width: width * FULL / 2, height: height * FULL / 2, style: `color:${style.color};background:${paper(svg)}` });
    const text = new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+),(#\w+)\)/g, of);
    return new Blob([text], { type: "image/svg+xml" });
  };
  const pixels = async (blob, { width, height }) => {
    const image = new Image(), by = Math.min(FULL, 8192 / Math.max(width, height));
    image.src = URL.createObjectURL(blob);
    await image.decode();
    const canvas = make("canvas", { width: width * by, height: height * by });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done));
  };

  /* Of a node: its edges, keys at their ends */
  const edgesOf = (svg, key) => {
    const keys = new Set();
    let path = "";
    for (const group of svg.querySelectorAll("[data-ends]")) {
      const [curves, arrows] = [...group.children].map((path) => path.getAttribute("d").match(/M[^M]*/g) ?? []);
      for (const ends of group.dataset.ends.split(",")) {
        const [tail, head, parts = 1, tips = 1] = ends.split(" "), own = [...curves.splice(0, parts), ...arrows.splice(0, tips)];
        if (tail != key && head != key) continue;
        keys.add(tail).add(head);
        path += own.join("");
      }
    }
    return { keys, path };
  };

  const rowsOf = (views) => views.rows ??= JSON.parse(views.dataset.details);
  const pictureOf = (svg) => {
    const views = svg.closest(".torchrecorder-zoom");
    return [views, [...views.querySelectorAll("svg.torchrecorder")].indexOf(svg)];
  };

  /* An inside that stands in another figure of the page, put into its own */
  const repeat = (svg, n) => {
    const other = document.getElementById(svg.dataset.same), [views, i] = pictureOf(svg), [from, j] = pictureOf(other);
    rowsOf(views)[i] = rowsOf(from)[j];
    const own = (text, before) => text.replaceAll(before + from.id, before + views.id);
    svg.outerHTML = ['id="', '"#'].reduce(own, other.outerHTML).replace(/tr-[0-9a-f]{12}/g, `$&${n}`);
  };

  const equip = (views) => {
    if (views.dataset.ready) return;
    views.dataset.ready = 1;
    const rows = rowsOf(views);
    const pictures = [...views.querySelectorAll("svg.torchrecorder")].map((svg, i) => {
      for (const node of svg.querySelectorAll("[data-n]")) if (!rows[i][node.dataset.n]) delete node.dataset.n;
      const nodes = [...svg.querySelectorAll("[data-n]")];
      return { svg, nodes, copy: svg.cloneNode(true), camera: watch(svg), row: (node) => rows[i][node.dataset.n] };
    });
    const shown = () => pictures.find(({ svg }) => isSeen(svg)) ?? pictures[0];
    const holding = (node) => pictures.find(({ svg }) => svg.contains(node));
    const pathOf = (node) => holding(node).row(node)[0];
    let current, isPinned, timer, pointer, kept;

    /* Details */
    const panel = make("div", { className: "torchrecorder-panel", hidden: true, tabIndex: -1, id: `${views.id}?` });
    put(panel, { role: "region", "aria-label": _("Details") });
    const describe = ([path = "", Class, Settings, Parameters, FLOPs, Output, into, Source, times, Parts]) => {
      const [name, In] = path.split("/").reverse(), list = make("dl"), Input = Class && (into || Output), Repeats = times && `×${times}`;
      const facts = { In, Class, Settings, Parameters, FLOPs, Input, Output, Source, Repeats, Parts };
      for (const fact in facts) if (facts[fact]) list.append(make("dt", {}, _(fact)), make("dd", {}, facts[fact]));
      return [make("strong", {}, name || _("all")), list];
    };
    const place = () => {
      const frame = views.getBoundingClientRect(), box = current.getBoundingClientRect();
      const w = panel.offsetWidth, h = panel.offsetHeight, gap = 10;
      let x = box.right + gap, y = box.top;
      if (x + w > innerWidth - 20) x = box.left - gap - w;
      if (x < Math.max(frame.left, 0)) [x, y] = [between(frame.left, box.left, frame.right - w), box.bottom + gap];
      y = between(8, y, Math.max(8, innerHeight - h - 8));
      Object.assign(panel.style, { left: `${x - frame.left}px`, top: `${y - frame.top}px` });
    };
    const clear = () => {
      clearTimeout(timer);
      panel.hidden = true;
      if (!current) return;
      const { svg, nodes } = holding(current);
      svg.querySelector(".torchrecorder-lit")?.remove();
      for (const node of nodes) node.classList.remove("torchrecorder-here", "torchrecorder-near");
      focusable(current).removeAttribute("aria-describedby");
      current = null;
      isPinned = false;
    };
    const tell = (node, pin) => {
      clear();
      [current, isPinned] = [node, pin];
      const { svg, nodes, row } = holding(node), link = node.closest("a"), { keys, path } = edgesOf(svg, node.dataset.n);
      const lit = svg.querySelector("[data-ends] path")?.cloneNode();
      const actions = make("p", {}, button("Copy link", copy), button("Close", leave));
      if (link) actions.prepend(make("a", { href: link.href.baseVal }, _(link.matches(".door") ? "Open" : "Documentation")));
      panel.replaceChildren(...describe(row(node)), actions);
      panel.style.background = paper(views);
      panel.hidden = false;
      place();
      keys.delete(node.dataset.n);
      for (const other of nodes) if (keys.has(other.dataset.n)) other.classList.add("torchrecorder-near");
      node.classList.add("torchrecorder-here");
      focusable(node).setAttribute("aria-describedby", panel.id);
      if (lit) svg.querySelector(".nodes").before(put(lit, { class: "torchrecorder-lit", d: path }));
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
    const begin = ({ svg, nodes }) => {
      if (nodes.length) svg.setAttribute("role", "group");
      const bare = nodes.filter((node) => !node.closest("a"));
      for (const node of bare) put(node, { role: "button", tabindex: node == bare[0] ? 0 : -1 });
      svg.addEventListener("pointerover", (event) => {
        const node = nodeAt(event.target);
        if (event.pointerType == "touch" || isPinned) return;
        if (!node) return later();
        clearTimeout(timer);
        if (node != current) tell(node);
      });
      svg.addEventListener("pointerleave", later);
      svg.parentElement.addEventListener("focusin", (event) => {
        const node = nodeAt(event.target);
        if (bare.includes(node)) for (const other of bare) put(other, { tabindex: other == node ? 0 : -1 });
        if (node && node != current && event.target.matches(":focus-visible")) tell(node);
      });
      svg.parentElement.addEventListener("focusout", later);
      svg.addEventListener("pointerdown", (event) => pointer = event.pointerType);
      svg.addEventListener("click", (event) => {
        const node = nodeAt(event.target), isTap = pointer == "touch" && event.detail;
        if (!node) return clear();
        if (node.closest("a") && (!isTap || node == current && isPinned)) return;
        event.preventDefault();
        if (node == current && isPinned) clear();
        else tell(node, true);
      });
    };
    panel.addEventListener("pointerleave", later);

    /* Addresses: `#figure:layer1`, and `#figure:layer1/` of its inside */
    const message = make("output");
    const say = (...text) => message.value = _(...text);
    const copy = async () => {
      const inside = shown().svg.closest(".torchrecorder-inside"), id = current ? views.id + pathOf(current) : (inside ?? views).id;
      const url = new URL("#" + id, location).href;
      try {
        await navigator.clipboard.writeText(url);
        say("Link copied");
      } catch {
        say(url);
      }
    };
    const find = (path) => {
      for (const { nodes, row } of [shown(), ...pictures]) for (const node of nodes) if (row(node)[0] == path) return node;
    };
    const expose = (svg) => {
      for (const inside of views.querySelectorAll(".torchrecorder-inside"))
        inside.classList.toggle("torchrecorder-shown", inside.contains(svg));
    };
    const go = (node) => {
      const { svg, camera } = holding(node), depth = svg.closest(".torchrecorder-depth");
      expose(svg);
      if (depth) views.querySelectorAll("[type=radio]")[[...views.querySelectorAll(".torchrecorder-depth")].indexOf(depth)].checked = true;
      camera.reveal(node);
      tell(node, true);
    };
    const route = () => {
      const id = decodeURIComponent(location.hash.slice(1));
      expose(null);
      clear();
      if (kept) scrollBy({ top: views.getBoundingClientRect().top - kept, behavior: "instant" }); /* opens in place */
      kept = 0;
      if (!id.startsWith(views.id) || id == views.id || id.endsWith("/") && document.getElementById(id)) return;
      let path = id.slice(views.id.length), node;
      while (path && !(node = find(path))) path = above(path);
      if (node) go(node);
    };
    views.addEventListener("click", (event) => {
      const link = event.target.closest("a"), hash = link && (link.href.baseVal ?? link.hash);
      if (hash) event.stopPropagation();
      if (hash?.endsWith("/")) kept = Math.max(views.getBoundingClientRect().top, 70);
    });

    let hits = [], hit = -1;
    const field = make("input", { type: "search", placeholder: _("Find layer") });
    field.ariaLabel = field.placeholder;
    const search = () => {
      let word = field.value.trim().toLowerCase();
      const of = (text) => [...new Set([shown(), ...pictures])].flatMap(({ nodes, row }) =>
        nodes.filter((node) => row(node)[0] && row(node).slice(0, 2).join(" ").toLowerCase().includes(text)));
      for (hits = []; word && !(hits = of(word)).length;) word = above(word);
      hit = -1;
      for (const { nodes } of pictures) for (const node of nodes) node.classList.toggle("torchrecorder-found", hits.includes(node));
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
      const picture = shown(), file = vectors(picture);
      try {
        const href = URL.createObjectURL(kind == "PNG" ? await pixels(file, picture.copy.viewBox.baseVal) : file);
        make("a", { href, download: `${views.id.slice(0, -1)}.${kind.toLowerCase()}` }).click();
      } catch {
        say("This page does not allow it");
      }
    };
    const zoom = (by) => () => shown().camera.zoom(by), closer = zoom(1.3), farther = zoom(1 / 1.3), whole = () => shown().camera.whole();
    const walk = (node, by) => {
      const { nodes, camera } = holding(node), next = nodes[nodes.indexOf(node) + by];
      if (!next) return;
      focusable(next).focus({ focusVisible: true });
      camera.reveal(next);
      tell(next);
    };
    const steps = { ArrowLeft: [-80, 0], ArrowUp: [0, -80], ArrowRight: [80, 0], ArrowDown: [0, 80] };
    const keys = { "+": closer, "=": closer, "-": farther, 0: whole, f: full };
    views.addEventListener("keydown", (event) => {
      const { key, target } = event, node = nodeAt(target), step = steps[key];
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("[type=radio]")) return;
      let act = keys[key];
      if (key == "Escape") act = current && leave;
      else if (node && step) act = () => walk(node, Math.sign(step[0] + step[1]));
      else if (node && (key == " " || key == "Enter" && !node.closest("a"))) act = () => {
        tell(node, true);
        panel.focus();
      };
      else if (step && !panel.contains(target)) act = shown().camera.moves() && (() => shown().camera.move(...step));
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
    const tools = views.querySelector(".torchrecorder-tools");
    tools.append(field, message);
    for (const [text, title, onclick] of [["+", "Zoom in", closer], ["−", "Zoom out", farther], ["↺", "Show all", whole],
      ["⤢", "Full screen", full], ["link", "Copy link", copy], ["SVG", "Save SVG", save], ["PNG", "Save PNG", save]])
      tools.append(button(text, onclick, title));
    views.append(panel);
    pictures.forEach(begin);
    addEventListener("hashchange", route);
    addEventListener("beforeprint", rest);
    route();
  };
  /* Addresses that became known after the pictures */
  const refer = () => {
    const known = {};
    for (const a of document.querySelectorAll(".torchrecorder-references a")) known[a.textContent] ??= a.getAttribute("href");
    for (const a of document.querySelectorAll("a[data-class]"))
      if (known[a.dataset.class]) a.setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", known[a.dataset.class]);
  };
  const all = () => {
    refer();
    words = JSON.parse(document.querySelector("[data-words]")?.dataset.words ?? "{}");
    document.querySelectorAll("[data-same]").forEach(repeat);
    document.querySelectorAll(".torchrecorder-zoom").forEach(equip);
  };
  all();
  /* Material's first popstate loads anew */
  const { document$, location$ } = globalThis, { pathname } = location;
  document$?.subscribe(all);
  if (location$) location$.next = (url) => {
    if (event?.type == "popstate" && url.pathname == pathname) return;
    delete location$.next;
    location$.next(url);
  };
})();
