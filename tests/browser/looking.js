/* What a reader could not read: for the tests, run in the page. Gives a list of complaints. */
(() => {
  const complaints = [];
  const inside = (inner, outer, slack) =>
    inner.x >= outer.x - slack && inner.x + inner.width <= outer.x + outer.width + slack &&
    inner.y >= outer.y - slack && inner.y + inner.height <= outer.y + outer.height + slack;
  /* Without the room for accents and descents that a line reserves. */
  const core = (box) => ({ x: box.x, y: box.y + .2 * box.height, width: box.width, height: .6 * box.height });
  const meet = (a, b) =>
    a.x < b.x + b.width - .5 && b.x < a.x + a.width - .5 && a.y < b.y + b.height && b.y < a.y + a.height;
  const numbers = (colour) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under, opacity = 1) => [r, g, b].map((part, i) => part * a * opacity + under[i] * (1 - a * opacity));
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c / 255 <= .04045 ? c / 255 / 12.92 : ((c / 255 + .055) / 1.055) ** 2.4));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const paper = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(numbers(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const pictures = [...document.querySelectorAll("svg.torchrecorder")].filter((svg) => svg.getClientRects().length);
  for (const svg of pictures) {
    const name = svg.closest("figure").id || "figure";
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ text, said: text.textContent, box: text.getBBox() }));
    const outlines = [...svg.querySelectorAll("rect, circle")].map((outline) => ({ outline, box: outline.getBBox() }));
    const view = svg.viewBox.baseVal;
    for (const { text, said, box } of texts) {
      if (!inside(box, view, 1)) complaints.push(`${name}: ${said} leaves the picture`);
      const node = text.closest(".nodes g");
      const own = node && !node.matches(".titles") && node.querySelector("rect, circle");
      if (own && !inside(core(box), own.getBBox(), .5)) complaints.push(`${name}: ${said} leaves its node`);
      const style = getComputedStyle(text);
      const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2, width: 0, height: 0 };
      const under = outlines.filter(({ outline, box: it }) => inside(middle, it, 0) &&
        outline.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
      const back = under.reduce((below, { outline }) => {
        const paint = getComputedStyle(outline);
        return paint.fill == "none" ? below : over(numbers(paint.fill), below, +paint.fillOpacity);
      }, paper(svg));
      const ratio = contrast(over(numbers(style.fill), back, +style.fillOpacity), back);
      if (ratio < 4.5) complaints.push(`${name}: contrast of ${said} is ${ratio.toFixed(2)}`);
    }
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      if (meet(core(a.box), core(b.box))) complaints.push(`${name}: ${a.said} and ${b.said} overlap`);
    }));
  }
  return { pictures: pictures.length, complaints };
})();
