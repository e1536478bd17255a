// The cascade of a design: cards show the features and exits of each stage, bands show the flow of rows.

const SVG = "http://www.w3.org/2000/svg";
const THICK = 84; // width of the band of all rows, in pixels
const ROOM = 140; // width of a stage beside others, in pixels
const FEWEST = 4; // stages side by side; if fewer fit, they stand one below the other
const TIP = 10; // length of the arrow from one line of stages to the next, in pixels
const SHOWN = { few: 9, many: 5 }; // features listed before the reader opens the rest, by stages
const BAR = 240; // width of the bar of all rows in a tree, in pixels
const MANY = 6; // stages, whose cards are narrow
const KEY = [
  ["onward", "rows that go on"],
  ["correct", "leave with the correct label"],
  ["wrong", "leave with a wrong label"],
  ["rejected", "rejected"],
];

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** A feature with its cost, and its columns if it is a group. */
function featureItem(feature) {
  const name = DATA.features[feature];
  const columns = DATA.columns[feature];
  const item = element(
    "li",
    {},
    element("span", { className: "name" }, name),
    element(
      "span",
      { className: "cost" },
      element("span", { className: "hidden" }, " costs "),
      price(DATA.costs[feature]),
    ),
  );
  if (columns.length > 1 || columns[0] !== name)
    item.append(element("span", { className: "members" }, columns.join(", ")));
  return item;
}

/** A fee that a stage pays, because it buys the first of the features that share it. */
function feeItem({ name, cost }) {
  return element(
    "li",
    {},
    element("span", { className: "name" }, `fee for ${name}`),
    element(
      "span",
      { className: "cost" },
      element("span", { className: "hidden" }, " costs "),
      price(cost),
    ),
  );
}

/** The fees that a stage is the first to pay. */
function feesOf(stage, earlier) {
  const has = (one, fee) => one.features.some((i) => fee.features.includes(DATA.features[i]));
  return DATA.fees.filter((fee) => has(stage, fee) && !earlier.some((one) => has(one, fee)));
}

/** The card with the features that a stage buys. */
function buysCard(stage, index, earlier, most) {
  const extra = DATA.evaluation ? `, including ${price(DATA.evaluation)} to run the stage` : "";
  const buys = stage.features.length ? `buys features for ${price(stage.cost)}${extra}` : "buys nothing";
  return element(
    "div",
    { className: "buys" },
    element("h3", {}, `Stage ${index + 1}`),
    element("p", { className: "note" }, buys),
    ...featureLists(
      [...stage.features.map(featureItem), ...feesOf(stage, earlier).map(feeItem)],
      most,
    ),
  );
}

/** The role tells Safari that this is a list: it ignores lists without bullets. */
const listOf = (items) => element("ul", { role: "list" }, ...items);

/** The first features of a long list, and the rest behind a line that opens. */
function featureLists(items, most) {
  if (items.length <= most + 1) return [listOf(items)];
  const more = element(
    "details",
    {},
    element("summary", {}, `and ${items.length - most} more`),
    listOf(items.slice(most)),
  );
  more.addEventListener("toggle", () => dispatchEvent(new Event("resize")));
  return [listOf(items.slice(0, most)), more];
}

/** Whether a stage labels every row that has its values. */
const takesAll = ({ least }) => answersAll(least);

/** The rule by which rows leave at a stage. */
function ruleOf(stage) {
  const rule = takesAll(stage) ? "answers all" : `confidence ≥ ${leastOf(stage.least)}`;
  return [element("p", { className: "note rule" }, rule)];
}

/** The cost and, where values come later, the delay of a row that leaves at a stage. */
const soFar = ({ costSoFar, delaySoFar }) =>
  `at ${price(costSoFar)} per row${DATA.waits ? `, delay ${number(delaySoFar)}` : ""}`;

/** The card with the rows that leave at a stage. */
function leavesCard(stage, rows) {
  if (!stage.reached)
    return element(
      "div",
      { className: "leaves" },
      ...ruleOf(stage),
      element("p", { className: "note" }, "no row reaches this stage"),
    );
  const { inRows } = stage;
  const lines = [
    ...ruleOf(stage),
    element(
      "p",
      {},
      element("strong", {}, amount(inRows.left)),
      ` of ${rowsOf(inRows.reached)} ${amount(inRows.left) === "1" ? "leaves" : "leave"}`,
    ),
  ];
  if (stage.left) {
    lines.push(
      element(
        "p",
        {},
        `${percent(stage.correct / stage.left)} correct${inRows.wrong ? `, ${amount(inRows.wrong)} wrong` : ""}`,
      ),
    );
    lines.push(
      element(
        "p",
        { className: "note" },
        `${percent(stage.left / rows, 0)} of all rows, ${soFar(stage)}`,
      ),
    );
  }
  return element("div", { className: "leaves" }, ...lines);
}

function rejectedCard({ rejected, rows, stages, inRows }) {
  if (!rejected)
    return element("div", { className: "leaves" }, element("p", {}, "No row is rejected"));
  return element(
    "div",
    { className: "leaves" },
    element(
      "p",
      {},
      element("strong", {}, amount(inRows.rejected)),
      ` ${amount(inRows.rejected) === "1" ? "row is" : "rows are"} rejected`,
    ),
    element("p", {}, takesAll(stages.at(-1)) ? "they lack a value" : "no stage was sure enough"),
    element(
      "p",
      { className: "note" },
      `${percent(rejected / rows, 0)} of all rows, ${soFar(stages.at(-1))}`,
    ),
  );
}

/** The key to the colours of bands and bars. */
function colourKey() {
  const key = element("p", { className: "key note", "aria-hidden": "true" });
  for (const [kind, text] of KEY) {
    const sample = shape("svg", { width: 18, height: 10 });
    sample.append(shape("rect", { width: 18, height: 10, rx: 2, class: `band ${kind}` }));
    key.append(element("span", {}, sample, text));
  }
  return key;
}

/** The pattern of rejected rows. */
function hatched() {
  const hatch = shape("pattern", {
    id: "hatch",
    width: 6,
    height: 6,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  hatch.append(
    shape("rect", { width: 6, height: 6, class: "hatch-ground" }),
    shape("rect", { width: 2.5, height: 6, class: "hatch-line" }),
  );
  const defs = shape("defs", {});
  defs.append(hatch);
  return defs;
}

/** A bar of the rows that reach a stage, as a share of all, by what becomes of them. */
function rowsBar(stage, rows) {
  const bar = shape("svg", { class: "rows-bar", width: BAR, height: 12, "aria-hidden": "true" });
  const kinds = {
    correct: stage.correct,
    wrong: stage.wrong,
    rejected: stage.rejected,
    onward: Math.max(0, stage.staying - stage.rejected),
  };
  let x = 0;
  for (const [kind, count] of Object.entries(kinds)) {
    const width = (BAR * count) / (rows || 1);
    bar.append(shape("rect", { x, width, height: 12, class: `band ${kind}` }));
    x += width;
  }
  return bar;
}

/** A stage of a design that branches: what it buys, and the rows that leave there. */
function treeStage(flow, index) {
  const stage = flow.stages[index];
  const earlier = [];
  for (let one = stage.before; one >= 0; one = flow.stages[one].before)
    earlier.push(flow.stages[one]);
  const leaves = leavesCard(stage, flow.rows);
  if (stage.rejected)
    leaves.append(
      element(
        "p",
        {},
        element("strong", {}, amount(stage.inRows.rejected)),
        ` ${amount(stage.inRows.rejected) === "1" ? "row is" : "rows are"} rejected`,
      ),
    );
  leaves.prepend(rowsBar(stage, flow.rows));
  return element(
    "li",
    { className: "stage" },
    buysCard(stage, index, earlier, SHOWN.many),
    leaves,
  );
}

/** The stages from one up to the next branch, then a list of the ways that rows go there. */
function treePart(flow, first) {
  const list = element("ol", { className: "tree", role: "list" });
  let after = [first];
  while (after.length === 1) {
    list.append(treeStage(flow, after[0]));
    after = stagesAfter(flow.tree, after[0]);
  }
  if (!after.length) return list;
  const ways = after.map((next) => {
    const { reached, inRows } = flow.stages[next];
    const words = element(
      "p",
      { className: "asked" },
      element("strong", {}, flow.tree.ways[next]),
      `: ${rowsOf(inRows.reached)}, ${percent(reached / (flow.rows || 1), 0)} of all`,
    );
    return element("li", {}, words, treePart(flow, next));
  });
  list.append(element("li", {}, element("ul", { className: "ways", role: "list" }, ...ways)));
  return list;
}

/** Draw a design that branches as a list in a list. */
function drawTree(container, flow) {
  const patterns = shape("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": "true" });
  patterns.append(hatched());
  const note = element("p", { className: "note" }, flow.tree.note);
  const tree = treePart(flow, 0);
  tree.setAttribute("aria-label", "Stages, in order");
  container.replaceChildren(patterns, tree, ...(flow.tree.note ? [note] : []), colourKey());
}

/** Draw the cards of a design, and the bands behind them. */
function drawCascade(container, flow) {
  if (flow.tree) {
    drawTree(container, flow);
    return;
  }
  const grid = element("ol", { className: "cascade", role: "list", "aria-label": "Stages, in order" });
  const isMany = flow.stages.length >= MANY;
  grid.classList.toggle("dense", isMany);
  flow.stages.forEach((stage, index) => {
    grid.append(
      element(
        "li",
        { className: "stage" },
        buysCard(stage, index, flow.stages.slice(0, index), isMany ? SHOWN.many : SHOWN.few),
        element("div", { className: "way", "aria-hidden": "true" }),
        leavesCard(stage, flow.rows),
      ),
    );
  });
  grid.append(
    element(
      "li",
      { className: "stage end" },
      element("div", { className: "buys none" }),
      element("div", { className: "way", "aria-hidden": "true" }),
      rejectedCard(flow),
    ),
  );
  container.replaceChildren(grid, colourKey());
  drawBands(container, flow);
}

/** Draw the bands in the space between the cards; needed again when the page changes its width. */
function drawBands(container, flow) {
  const grid = container.querySelector(".cascade");
  if (!grid) return;
  grid.querySelector("svg")?.remove();
  const columns = flow.stages.length + 1;
  const room = Math.floor(container.clientWidth / ROOM);
  const upright = room < Math.min(columns, FEWEST);
  const lines = upright ? 1 : Math.ceil(columns / room);
  const perLine = Math.ceil(columns / lines);
  grid.classList.toggle("upright", upright);
  grid.classList.toggle("wrapped", lines > 1);
  grid.style.setProperty("--columns", perLine);
  const frame = grid.getBoundingClientRect();
  const svg = shape("svg", {
    class: "bands",
    width: frame.width,
    height: frame.height,
    "aria-hidden": "true",
    focusable: "false",
  });
  svg.append(hatched());
  const places = [...grid.querySelectorAll(".stage")].map((stage, index) => {
    const way = stage.querySelector(".way").getBoundingClientRect();
    const exit = stage.querySelector(".leaves").getBoundingClientRect();
    return upright
      ? {
          start: way.top - frame.top,
          end: way.bottom - frame.top,
          side: way.left - frame.left,
          exit: exit.left - frame.left,
          turn: exit.top - frame.top + exit.height / 2,
        }
      : {
          start: way.left - frame.left,
          end: way.right - frame.left,
          side: way.top - frame.top,
          exit: way.bottom - frame.top,
          turn: way.left - frame.left + way.width / 2,
          tip: lines > 1 && (index + 1) % perLine === 0 ? TIP : 0,
        };
  });
  const thick = upright ? Math.min(THICK, 56) : THICK;
  for (const [kind, points] of bandsOf(flow, places, thick))
    svg.append(
      shape("path", { class: `band ${kind}`, d: upright ? turned(points) : straight(points) }),
    );
  grid.prepend(svg);
}

/**
 * Bands as kind and curve, for rows that go on (along) and rows that leave (across).
 * Along is to the right and across is down; an upright cascade swaps them.
 */
function bandsOf(flow, places, thick) {
  const scale = thick / (flow.rows || 1);
  const wide = (rows) => (rows ? Math.max(1, rows * scale) : 0);
  const bands = [];
  flow.stages.forEach((stage, index) => {
    const { start, end, side, exit, turn, tip } = places[index];
    const onward = wide(stage.staying);
    const last = index === flow.stages.length - 1;
    if (onward) {
      const kind = last ? "rejected" : "onward";
      bands.push([kind, along(start, end - (tip || 0), side, side + onward, tip)]);
    }
    let from = side + stage.reached * scale;
    const whole = wide(stage.left);
    let at = turn - whole / 2;
    for (const [kind, rows] of [
      ["correct", stage.correct],
      ["wrong", stage.wrong],
    ]) {
      if (!rows) continue;
      const width = wide(rows);
      bands.push([kind, leaving(start, from - width, from, at, at + width, exit)]);
      from -= width;
      at += width;
    }
  });
  const { start, side, exit, turn } = places.at(-1);
  const width = wide(flow.rejected);
  if (width)
    bands.push([
      "rejected",
      leaving(start, side, side + width, turn - width / 2, turn + width / 2, exit),
    ]);
  return bands;
}

/** A straight band, slightly too long so that no gap shows between two; or a band with a tip. */
const along = (start, end, near, far, tip = 0) => [
  ["M", start, near],
  ["L", end + 0.6, near],
  ...(tip ? [["L", end + tip, (near + far) / 2]] : []),
  ["L", end + 0.6, far],
  ["L", start, far],
  ["Z"],
];

/** A band that starts between near and far, and turns to end between first and second at exit. */
function leaving(start, near, far, first, second, exit) {
  return [
    ["M", start, near],
    ["C", (start + second) / 2 + 8, near, second, near + 4, second, exit],
    ["L", first, exit],
    ["C", first, far + 4, (start + first) / 2 + 4, far, start, far],
    ["Z"],
  ];
}

const straight = (points) =>
  points.map(([step, ...at]) => step + at.map((value) => value.toFixed(1)).join(" ")).join("");

/** The path of a band with along and across swapped. */
const turned = (points) =>
  straight(points.map(([step, ...at]) => [step, ...at.map((_, i) => at[i % 2 ? i - 1 : i + 1])]));
