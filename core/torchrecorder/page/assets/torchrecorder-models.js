/* Tables of models are sorted by a click at a head, grids filtered by the tags of their cards. */
{
  const all = (at, selector) => [...at.querySelectorAll(selector)];
  const button = (name, onclick, ...children) => {
    const it = Object.assign(document.createElement("button"), { type: "button", className: name, onclick });
    it.append(...children);
    return it;
  };
  const units = { k: 1e3, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12 };
  const valueOf = (row, column) => {
    const text = row.cells[column]?.textContent.trim() ?? "";
    const number = /^(?:≥ )?([\d.]+)\s?([kKMGBT])?/.exec(text);
    return number ? number[1] * (units[number[2]] ?? 1) : text.toLowerCase();
  };
  const sortBy = (head, column) => {
    const body = head.closest("table").tBodies[0], up = head.ariaSort != "ascending" ? 1 : -1;
    for (const other of head.parentElement.cells) other.ariaSort = null;
    head.ariaSort = up > 0 ? "ascending" : "descending";
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    rows.sort(([a], [b]) => up * (typeof a == typeof b ? (a > b) - (a < b) : typeof a == "number" ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  };
  const filter = (cards) => {
    const tagsOf = (card) => card.querySelector(".torchrecorder-tags")?.textContent.split(" · ") ?? [];
    const counts = {};
    for (const tag of cards.flatMap(tagsOf)) counts[tag] = (counts[tag] ?? 0) + 1;
    const tags = Object.keys(counts).filter((tag) => counts[tag] > 1 && counts[tag] < cards.length);
    const choices = tags.sort((a, b) => counts[b] - counts[a]).map((tag) => button("", () => {
      const chosen = choices.find((it) => it.textContent == tag), wanted = chosen.ariaPressed != "true" && tag;
      for (const card of cards) card.hidden = wanted && !tagsOf(card).includes(wanted);
      for (const choice of choices) choice.ariaPressed = choice == chosen && Boolean(wanted);
    }, tag));
    if (!choices.length) return;
    const frame = Object.assign(document.createElement("p"), { className: "torchrecorder-filter" });
    frame.append(...choices);
    cards[0].parentElement.before(frame);
  };
  const start = () => {
    for (const models of all(document, ".torchrecorder-models:not([data-ready])")) {
      models.dataset.ready = "";
      all(models, "thead th").forEach((head, column) =>
        head.append(button("torchrecorder-sort", () => sortBy(head, column), ...head.childNodes)));
      filter(all(models, ".torchrecorder-card"));
    }
  };
  start();
  globalThis.document$?.subscribe(start);
}
