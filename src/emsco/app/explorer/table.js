// The table of designs: one page at a time, sorted by any column.

const PAGE = 10;

class DesignTable {
  constructor(onPick) {
    this.onPick = onPick;
    this.sort = { key: "number", up: true };
    this.first = 0;
    this.state = null;
    const figures = (which) =>
      ["coverage", "accuracy", "cost"].map((name) => ({
        key: `${which} ${name}`,
        title: `${which} ${nameOf(name, which)}`,
        value: (i) => DATA[which][name][i],
        text: (i) => figure(name, DATA[which][name][i]),
      }));
    this.columns = [
      { key: "number", title: "Design", value: (i) => i },
      ...figures("scored"),
      ...(EXPECTED ? [expectedColumn()] : []),
      ...(DATA.seen ? figures("seen") : []),
      {
        key: "stages",
        title: "stages",
        value: (i) => DATA.stages[i].length,
        text: (i) => `${DATA.stages[i].length}`,
      },
      {
        key: "tied",
        title: "tied designs",
        value: (i) => DATA.tied[i],
        text: (i) => number(DATA.tied[i]),
      },
    ];
    byId("only-within").addEventListener("change", () => this.turn(0));
    onPress("page-back", () => this.turn(this.first - PAGE));
    onPress("page-on", () => this.turn(this.first + PAGE));
  }

  turn(first) {
    this.first = Math.max(0, first);
    this.draw(this.state);
    byId("live").textContent = `The table shows ${byId("page-words").textContent}.`;
  }

  sortBy(key) {
    this.sort = { key, up: this.sort.key === key ? !this.sort.up : true };
    this.turn(0);
    byId("table").querySelector(`[data-key="${key}"]`).focus();
  }

  /** All designs in the order of the column; sorted once, not at each step of a dragged limit. */
  order() {
    const { key, up } = this.sort;
    if (this.ordered?.key !== key) {
      const { value } = this.columns.find((column) => column.key === key);
      this.ordered = { key, numbers: [...ALL].sort((a, b) => value(a) - value(b) || a - b) };
    }
    return up ? this.ordered.numbers : [...this.ordered.numbers].reverse();
  }

  numbers() {
    const only = byId("only-within").checked;
    return this.order().filter((i) => isListed(i) && (!only || isWithin(i, this.state.limits)));
  }

  draw(state) {
    this.state = state;
    const numbers = this.numbers();
    if (this.first >= numbers.length) this.first = 0;
    const shown = numbers.slice(this.first, this.first + PAGE);
    const focused = document.activeElement?.dataset?.design;
    byId("table").replaceChildren(
      this.head(),
      element("tbody", {}, ...shown.map((i) => this.line(i))),
    );
    if (focused !== undefined) byId("table").querySelector(`[data-design="${focused}"]`)?.focus();
    byId("page-words").textContent = numbers.length
      ? `${number(this.first + 1)} to ${number(this.first + shown.length)} of ${number(numbers.length)}`
      : "no design";
    enable("page-back", this.first > 0);
    enable("page-on", this.first + PAGE < numbers.length);
  }

  head() {
    const cells = this.columns.map(({ key, title }) => {
      const sorted = key === this.sort.key;
      const button = element(
        "button",
        { type: "button", "data-key": key },
        title,
        element("span", { "aria-hidden": "true" }, sorted ? (this.sort.up ? " ▲" : " ▼") : ""),
      );
      button.addEventListener("click", () => this.sortBy(key));
      return element(
        "th",
        { scope: "col", ...(sorted && { "aria-sort": this.sort.up ? "ascending" : "descending" }) },
        button,
      );
    });
    return element(
      "thead",
      {},
      element("tr", {}, ...cells, element("th", { scope: "col" }, "features by stage")),
    );
  }

  line(i) {
    const button = element(
      "button",
      {
        type: "button",
        "data-design": `${i}`,
        "aria-pressed": `${i === this.state.chosen}`,
        "aria-label": `Show design ${i}${UNINFORMATIVE.has(i) ? `, ${NO_BETTER}` : ""}`,
      },
      `${i}`,
    );
    button.addEventListener("click", () => this.onPick(i));
    const cells = this.columns.slice(1).map(({ text }) => element("td", {}, ...[text(i)].flat()));
    const line = element(
      "tr",
      {},
      element("th", { scope: "row" }, button),
      ...cells,
      element("td", { className: "arrows" }, arrows(i) + (UNINFORMATIVE.has(i) ? ` (${NO_BETTER})` : "")),
    );
    line.classList.toggle("chosen", i === this.state.chosen);
    line.classList.toggle("outside", !isWithin(i, this.state.limits));
    line.classList.toggle("uninformative", UNINFORMATIVE.has(i));
    return line;
  }
}
