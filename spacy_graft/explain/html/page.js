// Tables are sorted by a click on a column, and long tables and lists are filtered. Without scripts all is there as well.
(() => {
  const FILTERED_FROM = 15;
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = (cell?.dataset.key ?? cell?.textContent ?? "").trim().replace(/−/g, "-").replace(/(\d),(?=\d{3})/g, "$1");
    const number = /^[+-]?\d+(\.\d+)?(?=%?$| to )/.exec(text);  // an interval is sorted by its lower limit
    return number ? Number(number[0]) : text.toLowerCase();
  };
  const compare = (a, b) =>
    typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;

  for (const head of document.querySelectorAll(".graft thead th")) {
    const sort = () => {
      const body = head.closest("table").tBodies[0];
      const falls = head.ariaSort !== "descending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.ariaSort = falls ? "descending" : "ascending";
      const rows = [...body.rows].map((row) => [key(row, head.cellIndex), row]);
      rows.sort(([a], [b]) => (falls ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    };
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.append(...head.childNodes);
    head.append(button);
    head.classList.add("sortable");
    head.addEventListener("click", sort);  // also of the button, by Enter and Space
  }

  const filter = (entries, before, name) => {
    if (entries.length < FILTERED_FROM) return;
    const input = Object.assign(document.createElement("input"), { type: "search", placeholder: `Filter ${name}` });
    input.ariaLabel = input.placeholder;
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const entry of entries) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
    });
    before.before(input);
  };
  for (const table of document.querySelectorAll(".graft table")) filter([...table.tBodies[0].rows], table.parentNode, "rows");
  for (const list of document.querySelectorAll(".graft .entries")) filter([...list.children], list, "documents");
})();
