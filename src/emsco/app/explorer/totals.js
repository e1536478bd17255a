// What errors and rejections cost: two sliders, the total of a design, and the design with the lowest.

const TOLD = DATA.error_costs; // costs that the fit was told, or null
const NOTHING_REJECTED = ALL.every((i) => FIGURES.coverage[i] >= 1);
const TOTALS_FROM = EXPECTED && IS_PLAIN ? "expected" : "scored";
const ERROR_COSTS = [
  { name: "error", title: "Cost of an error", times: 20 },
  { name: "reject", title: "Cost of a rejection", times: 4 },
];

/** The costs now; null is a cost that the reader has not set. */
const errorCosts = { error: TOLD?.error ?? null, reject: TOLD?.reject ?? null };

const hasErrorCosts = () => errorCosts.error !== null && (errorCosts.reject !== null || NOTHING_REJECTED);

/** The parts of a total: features, errors and rejections. Costs that differ by class have factors. */
function partsOf({ coverage, correct, cost }, factors) {
  const [error, reject] = [errorCosts.error, errorCosts.reject ?? 0];
  const wrong = (1 - correct) * (factors?.wrong ?? 1) + correct * (factors?.correct ?? 0);
  return {
    features: cost,
    errors: error * coverage * wrong,
    rejections: reject * (1 - coverage) * (factors?.rejected ?? 1),
  };
}

/** Format a part of a total, with four digits: more would be noise. */
const amountOf = (value) => price(Number(value.toPrecision(4)));

const totalOfParts = ({ features, errors, rejections }) => features + errors + rejections;

/** The factors of the design or reference at a place in a list; none if costs are single numbers. */
const factorsOf = (list, i) =>
  list && { wrong: list.wrong[i], correct: list.correct[i], rejected: list.rejected[i] };

/** The parts of a design's total, from expected figures if there are any. */
function partsOfDesign(i) {
  const from = TOTALS_FROM === "expected" ? EXPECTED : FIGURES;
  const correct = from === EXPECTED ? EXPECTED.accuracy[i] : shareCorrect(i, "scored");
  return partsOf(
    { coverage: from.coverage[i], correct, cost: from.cost[i] },
    factorsOf(TOLD?.designs, i),
  );
}

const totalOf = (i) => totalOfParts(partsOfDesign(i));

/** The total of a reference on the scored rows. */
const totalOfReference = (i) =>
  totalOfParts(partsOf(REFERENCES[i], factorsOf(TOLD?.references, i)));

/** The totals of all references in a sentence; none without costs. */
function referenceTotals() {
  if (!hasErrorCosts() || !REFERENCES.length) return "";
  const words = REFERENCES.map(({ title }, i) => `${title}: ${amountOf(totalOfReference(i))}`);
  return `Total of a row: ${words.join("; ")}.`;
}

/** The design with the lowest total among some. */
const cheapestOf = (designs) =>
  designs.reduce((best, i) => (best === null || totalOf(i) < totalOf(best) ? i : best), null);

/** The total of a design and its parts in a sentence; none without costs. */
function totalInWords(design) {
  if (!hasErrorCosts()) return "";
  const parts = partsOfDesign(design);
  const words = Object.entries(parts).map(([name, value]) => `${name} ${amountOf(value)}`);
  const kind = capital(TOTALS_FROM);
  return `${kind} total of a row: ${amountOf(totalOfParts(parts))} (${words.join(", ")}).`;
}

/** What is missing before there are totals, or what the sliders mean. */
function aboutErrorCosts() {
  if (hasErrorCosts() && TOLD?.designs)
    return "Your costs differ by class: the sliders show their means, and change all of them alike.";
  if (hasErrorCosts()) return "In the unit of the feature costs. The best design has the lowest total.";
  if (errorCosts.error !== null) return "Set the cost of a rejection too.";
  if (errorCosts.reject !== null) return "Set the cost of an error too.";
  return "Set both to find the design with the lowest total of features, errors and rejections.";
}

/** The end of a slider: a round number above a cost that is often meant, and above the one set. */
function mostOf({ name, times }) {
  const wanted = Math.max(times * (DATA.total || 1), 2 * (errorCosts[name] ?? 0));
  const unit = 10 ** Math.floor(Math.log10(wanted));
  return Math.ceil(wanted / unit) * unit;
}

/** A slider and a box for a cost; an empty box is no cost. */
function makeErrorCost(one, changed) {
  const { name, title } = one;
  const most = mostOf(one);
  const about = { min: 0, max: most, step: most / 200, value: errorCosts[name] ?? 0 };
  const slider = element("input", { type: "range", id: `${name}-cost`, ...about });
  const box = element("input", {
    type: "number",
    inputMode: "decimal",
    id: `${name}-cost-box`,
    min: 0,
    step: "any",
    value: errorCosts[name] ?? "",
    "aria-label": title,
  });
  const say = () =>
    slider.setAttribute(
      "aria-valuetext",
      errorCosts[name] === null ? "not set" : price(errorCosts[name]),
    );
  const set = (value) => {
    errorCosts[name] = value;
    slider.value = value ?? 0;
    say();
    changed();
  };
  slider.addEventListener("input", () => {
    box.value = Number(Number(slider.value).toPrecision(6));
    set(Number(box.value));
  });
  box.addEventListener("input", () => {
    const value = Number(box.value);
    if (box.value === "") set(null);
    else if (Number.isFinite(value) && value >= 0) set(value);
  });
  one.reset = () => {
    box.value = "";
    set(null);
  };
  say();
  return element(
    "div",
    { className: "limit" },
    element("label", { for: slider.id }, title),
    element("span", { className: "unit" }, ...besideUnit(box)),
    slider,
  );
}
