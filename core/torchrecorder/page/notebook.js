/* Cells of notebooks: the image in each becomes the figure of a page, which is packed beside it with the image as dictionary. */
{
  const unpacked = async (packed, known) => {
    const before = new TextEncoder().encode(known).slice(-32768), n = before.length;
    const stored = Uint8Array.of(0, n, n >> 8, ~n, ~n >> 8); /* begins a block that is not compressed */
    const rest = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt());
    const stream = new Blob([stored, before, rest]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new TextDecoder().decode((await new Response(stream).arrayBuffer()).slice(n));
  };
  const add = (tag, textContent) => document.head.append(Object.assign(document.createElement(tag), { textContent, className: "torchrecorder-file" }));
  const files = unpacked("PACKED", "").then((text) => {
    const [style, script] = text.split("\0");
    document.querySelector("style.torchrecorder-file")?.remove();
    add("style", style);
    return script;
  });
  const last = {};
  const numbered = (html) => { /* two cells may show one model */
    const [, name] = html.match(/ id="([^"]*):"/), n = last[name] = (last[name] ?? 0) + 1;
    const renamed = (text, before) => text.replaceAll(`${before}${name}:`, `${before}${name}-${n}:`);
    return n == 1 ? html : ['id="', '"#', 'same="'].reduce(renamed, html).replace(/tr-[0-9a-f]{12}/g, `$&-${n}`);
  };
  const follow = (event) => { /* notebooks may have a base, from which `#` would lead away */
    const link = event.target.closest("a"), to = link?.getAttribute("href") ?? link?.getAttribute("xlink:href");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || !to?.startsWith("#")) return;
    event.preventDefault();
    location.hash = to;
  };
  const open = async (figure) => {
    const { packed } = figure.dataset, [, image] = figure.querySelector("img").getAttribute("src").split(/,(.*)/s);
    delete figure.dataset.packed; /* several cells may ask at once */
    figure.innerHTML = numbered(await unpacked(packed, decodeURIComponent(image).replaceAll("'", '"')));
  };
  globalThis.torchrecorder = async () => {
    const script = await files, figures = [...document.querySelectorAll("figure[data-packed]")];
    await Promise.allSettled(figures.map(open));
    add("script", script);
    for (const { firstChild } of figures) firstChild.onclick = follow;
  };
  torchrecorder();
}
