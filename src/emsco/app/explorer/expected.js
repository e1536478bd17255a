// What new rows show of a design, expected or seen on test rows: words, and further marks in the scatter plot.

const EXPECTED = DATA.expected;
const ABOUT_EXPECTED =
  "Expected figures are the scored ones less what luck adds to the choice, with 95 % intervals.";
// Test rows have the plain accuracy only: figures of another metric have no place beside it.
const SEEN = DATA.seen && IS_PLAIN ? DATA.seen : null;
const DIAMOND = "M0,-1L1,0L0,1L-1,0Z";
const [INNER, OUTER] = [6, 13]; // radii of a mark and of the ring around the chosen one, in pixels

/** The ends of an expected figure's 95 % interval, as in "78.0 to 88.2 %". */
function intervalOf(name, design) {
  const [low, high] = ["low", "high"].map((end) => figure(name, EXPECTED[end][name][design]));
  return `${low.endsWith(" %") && high.endsWith(" %") ? low.slice(0, -2) : low} to ${high}`;
}

/** An expected figure with its interval, as in "83.1 % (78.0 to 88.2 %)". */
const expectedText = (name, design) =>
  `${figure(name, EXPECTED[name][design])} (${intervalOf(name, design)})`;

/** The expected accuracy of a design in a few words; none without expected figures. */
const expectsInShort = (design) =>
  EXPECTED ? `expect ${DATA.metric} ${expectedText("accuracy", design)}` : "";

/** What the scored figures promise, and what to expect. */
function expectsInWords(design) {
  if (!EXPECTED) return "";
  const promised = percent(FIGURES.accuracy[design]);
  return `Scored ${DATA.metric} promises ${promised}; on new rows, expect ${expectedText("accuracy", design)}.`;
}

/** The contents of a cell: an expected figure above its interval. */
const expectedCell = (name, design) => [
  figure(name, EXPECTED[name][design]),
  element("span", { className: "interval" }, ` ${intervalOf(name, design)}`),
];

/** The column of expected accuracy in the table of designs. */
const expectedColumn = () => ({
  key: "expected accuracy",
  title: `expected ${DATA.metric}`,
  value: (i) => EXPECTED.accuracy[i],
  text: (i) => expectedCell("accuracy", i),
});

/** The range of an axis, extended to expected and seen figures that leave designs at least a third of it. */
function rangeWithJoined(name) {
  const [low, high] = rangeWithReferences(name);
  const [least, most] = extremes(name);
  const reach = most - least || Infinity;
  const near = [EXPECTED, SEEN]
    .flatMap((figures) => figures?.[name] ?? [])
    .filter((value) => value >= least - reach && value <= most + reach);
  return [near.reduce((a, b) => Math.min(a, b), low), near.reduce((a, b) => Math.max(a, b), high)];
}

/** Other figures of designs, their intervals and the lines from the scored marks, in pixels; the first is chosen. */
function placeJoined(view, { x, y }, designs, figures) {
  if (!figures) return [];
  const [across, up] = [view.scale("x"), view.scale("y")];
  const inside = (value, room) => Math.min(view.signal(room), Math.max(0, value));
  return designs.map((i, order) => {
    const mark = { x: inside(across(figures[x][i]), "width"), y: inside(up(figures[y][i]), "height") };
    const [scoredX, scoredY] = [across(FIGURES[x][i]), up(FIGURES[y][i])];
    const away = Math.hypot(mark.x - scoredX, mark.y - scoredY);
    const start = Math.min(1, (order ? INNER : OUTER) / (away || 1));
    const endOf = (end) => inside(up((figures[end] ?? figures)[y][i]), "height");
    return {
      ...mark,
      fromX: scoredX + start * (mark.x - scoredX),
      fromY: scoredY + start * (mark.y - scoredY),
      low: endOf("low"),
      high: endOf("high"),
    };
  });
}
