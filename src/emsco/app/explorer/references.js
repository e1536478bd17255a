// What there is without a cascade: crosses in the scatter plot, their names, and a table.

const CROSS = "M-1,-1L1,1M-1,1L1,-1";
const LINE = 15; // pixels from one line of text to the next
const BESIDE = 11; // pixels between a cross and its name
const RING = 10; // radius of the ring around the best design, in pixels
const AWAY = [22, 36, 52, 72, 96]; // pixels between the best design and its name, as tried
const LONGEST = 28; // characters of a name in the picture
const ARROWS = { x: ["←", "→"], y: ["↑", "↓"] };
const rulers = element("canvas").getContext("2d");

/** The range of an axis: all designs, and the references that leave designs at least a third of it. */
function rangeWithReferences(name) {
  const [low, high] = extremes(name);
  const reach = high - low || Infinity;
  const near = REFERENCES.map((one) => one[name]).filter(
    (value) => value >= low - reach && value <= high + reach,
  );
  return [Math.min(low, ...near), Math.max(high, ...near)];
}

/** The name of a reference in the picture; an arrow and a figure tell that it is farther out. */
function nameOfReference(reference, fields, out) {
  const words = [shortened(reference.title, LONGEST)];
  for (const axis of ["x", "y"]) {
    if (!out[axis]) continue;
    const arrow = ARROWS[axis][out[axis] < 0 ? 0 : 1];
    words.push(`${arrow} ${figure(fields[axis], reference[fields[axis]])}`);
  }
  return words.join(" ");
}

/** A line of text as a box: its left and right end and its middle. */
function boxOf(text, x, y, toLeft) {
  rulers.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
  const { width } = rulers.measureText(text);
  return toLeft ? { left: x - width, right: x, y } : { left: x, right: x + width, y };
}

const cover = (one, other) =>
  one.left < other.right && other.left < one.right && Math.abs(one.y - other.y) < LINE;

/** How far down a line of text must move to be clear of others, and to hide the fewest marks. */
function clearOf(box, taken, height, marks, state) {
  let found = { down: 0, penalty: Infinity };
  for (let step = 0; step <= taken.length + 2; step += 1) {
    for (const down of [step * LINE, -step * LINE]) {
      const moved = { ...box, y: box.y + down };
      const inside = moved.y >= 6 && moved.y <= height - 6;
      if (!inside || taken.some((other) => cover(moved, other))) continue;
      const penalty = 2 * hidden(moved, marks, state) + (step * step) / 4;
      if (penalty < found.penalty) found = { down, penalty };
    }
  }
  return found.down;
}

/** How much a line of text hides: marks near it count by their prominence, the chosen one most. */
function hidden(box, marks, state) {
  const covers = (i) =>
    Math.abs(marks.y(i) - box.y) < LINE * 0.8 && marks.x(i) > box.left - 6 && marks.x(i) < box.right + 6;
  const over = ALL.filter(covers);
  return over.reduce((sum, i) => sum + (i === state.chosen ? 20 : 0.1 + prominence(i)), 0);
}

/** The name of the best design where it hides the fewest marks, joined to its ring if that is far. */
function placeBest(view, marks, state) {
  if (state.best === null) return [];
  const [width, height] = [view.signal("width"), view.signal("height")];
  const [x, y] = [marks.x(state.best), marks.y(state.best)];
  const text = `best: design ${state.best}`;
  let found = null;
  for (const away of AWAY)
    for (const down of [-away, away, 0])
      for (const toLeft of [x > width / 2, x <= width / 2]) {
        const aside = down ? 0 : away;
        const box = boxOf(text, toLeft ? x - aside : x + aside, y + down, toLeft);
        if (box.left < 0 || box.right > width || box.y < 8 || box.y > height - 8) continue;
        const penalty = hidden(box, marks, state) + away / 60;
        if (found === null || penalty < found.penalty) found = { box, penalty, toLeft, down };
      }
  if (found === null) return [];
  const { box, toLeft, down } = found;
  const start = down ? { x, y: y + Math.sign(down) * RING } : { x: x + (toLeft ? -RING : RING), y };
  return [
    {
      text,
      x: toLeft ? box.right : box.left,
      y: box.y,
      align: toLeft ? "right" : "left",
      fromX: start.x,
      fromY: start.y,
      toX: down ? x : toLeft ? box.right : box.left,
      toY: down ? box.y - Math.sign(down) * 8 : y,
      boxes: [{ left: x - RING, right: x + RING, y }, box],
    },
  ];
}

/** The crosses and their names, in pixels of the plot, clear of other names and of marks. */
function placeReferences(view, fields, names, marks, state) {
  const [width, height] = [view.signal("width"), view.signal("height")];
  const [across, up] = [view.scale("x"), view.scale("y")];
  const place = (figures) => ({ x: across(figures[fields.x]), y: up(figures[fields.y]) });
  const taken = names.flatMap((name) => name.boxes);
  const inside = (value, room) => Math.min(room, Math.max(0, value));
  return REFERENCES.map((reference) => {
    const exact = place(reference);
    const [x, y] = [inside(exact.x, width), inside(exact.y, height)];
    const text = nameOfReference(reference, fields, { x: exact.x - x, y: exact.y - y });
    const toLeft = x > width / 2;
    const textX = toLeft ? x - BESIDE : x + BESIDE;
    const box = boxOf(text, textX, y, toLeft);
    const textY = y + clearOf(box, taken, height, marks, state);
    taken.push({ ...box, y: textY });
    return { x, y, text, textX, textY, align: toLeft ? "right" : "left" };
  });
}

/** A small picture for the key below the scatter plot. */
function sample(attributes) {
  const svg = shape("svg", { width: 14, height: 14, viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" });
  svg.append(shape("path", attributes));
  return svg;
}

/** The key of all marks that the legends above the plot leave out. */
function drawKey() {
  const lines = [];
  if (HAS_SHORTLIST)
    lines.push([
      sample({ class: "sample faint", d: SHAPES[0], transform: "scale(0.7)" }),
      "small and faint: not on the shortlist, whose designs differ from each other beyond noise",
    ]);
  if (UNINFORMATIVE.size)
    lines.push([sample({ class: "sample hollow", d: SHAPES[0] }), `hollow: ${NO_BETTER}`]);
  if (REFERENCES.length)
    lines.push([sample({ class: "sample cross", d: CROSS }), "without a cascade"]);
  if (EXPECTED)
    lines.push([
      sample({ class: "sample expected", d: DIAMOND }),
      "expected on new rows, with its 95 % interval: of the design shown, and of the one under the pointer",
    ]);
  if (SEEN)
    lines.push([
      sample({ class: "sample seen", d: DIAMOND }),
      "seen on test rows: of the same designs",
    ]);
  byId("scatter-key").replaceChildren(...lines.map((parts) => element("span", {}, ...parts)));
  byId("scatter-key").hidden = !lines.length;
}

/** The references as a table, scored and seen; the scored ones have totals if errors have costs. */
function drawReferences() {
  const kinds = ["scored", "seen"].filter((which) => DATA.references[which].length);
  byId("without").hidden = !kinds.length;
  byId("references").replaceChildren(...kinds.map(referenceTable));
}

function referenceTable(which) {
  const references = which === "scored" ? pricedReferences() : DATA.references[which];
  const names = ["coverage", "accuracy", "cost"];
  if (references.some(({ total }) => total !== undefined)) names.push("total");
  const heads = [capital(which), ...names.map((name) => capital(nameOf(name, which)))];
  const cell = (name, value) => {
    if (value === null) return "–";
    return name === "total" ? price(value) : figure(name, value);
  };
  const lines = references.map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, one.title),
      ...names.map((name) => element("td", {}, cell(name, one[name]))),
    ),
  );
  return element(
    "table",
    { className: "slim", "aria-label": `Without a cascade, ${which}` },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...lines),
  );
}
