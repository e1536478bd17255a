// What errors and rejections cost: sliders, the total of a design, and the design with the lowest.

const TOLD = DATA.error_costs; // costs that the fit was told, or null
const NOTHING_REJECTED = ALL.every((i) => FIGURES.coverage[i] >= 1);
const TOTALS_FROM = EXPECTED && IS_PLAIN ? "expected" : "scored";
const STEADY = 10; // errors of the usual mix of classes that are added to those of a design, as in Python

/** The costs now; null is a cost that the reader has not set. */
const errorCosts = {
  error: TOLD?.error ?? null,
  reject: TOLD?.reject ?? null,
  ofClass: TOLD?.by_class ? [...TOLD.by_class] : FEW_LABELS.map(() => null),
  isByClass: Boolean(TOLD?.by_class), // whether errors about each class have their own price
};

/** A cost that the reader can set; `isUsed` says whether it counts. */
const costSlider = (name, title, times, place, key, isUsed) => ({
  name,
  title,
  times,
  isUsed,
  get: () => place[key],
  set: (value) => {
    place[key] = value;
  },
});

const ERROR_COSTS = [
  costSlider("error", "Cost of an error", 20, errorCosts, "error", () => !errorCosts.isByClass),
  ...FEW_LABELS.map((label, k) =>
    costSlider(`error-${k}`, `Cost of an error about ${label}`, 20, errorCosts.ofClass, k, () => errorCosts.isByClass),
  ),
  costSlider("reject", "Cost of a rejection", 4, errorCosts, "reject", () => true),
];

const hasErrorPrices = () =>
  errorCosts.isByClass ? errorCosts.ofClass.every((one) => one !== null) : errorCosts.error !== null;

const hasErrorCosts = () => hasErrorPrices() && (errorCosts.reject !== null || NOTHING_REJECTED);

/** The share of each class in the errors to expect of a design or a reference, by its results by class. */
function mixOfErrors(counts, rows) {
  const outcomes = countsOf(counts, rows);
  const answered = sumOf(outcomes.map(({ said }) => said));
  // How often each class would be hit if labels knew nothing of it.
  const blind = outcomes.map(({ said }, k) => rows[k] * (answered - said));
  const usual = sumOf(blind) ? blind : rows;
  const errors = outcomes.map(({ wrong }, k) => wrong + (STEADY * usual[k]) / (sumOf(usual) || 1));
  return errors.map((one) => one / sumOf(errors));
}

const DESIGN_MIXES = FEW_LABELS.length
  ? EVERY.map((i) => mixOfErrors(CLASSES.scored.counts[i], CLASSES.scored.rows))
  : [];
const REFERENCE_MIXES = FEW_LABELS.length ? REFERENCES.map(({ counts, rows }) => mixOfErrors(counts, rows)) : [];

/** What an error costs on average, by the prices of the classes. */
const meanErrorCost = (mix) => sumOf(mix.map((part, k) => part * errorCosts.ofClass[k]));

/** The parts of a total: features, errors and rejections. Costs that differ by class have factors or a mix. */
function partsOf({ coverage, correct, cost }, factors, mix) {
  const wrong = errorCosts.isByClass ? meanErrorCost(mix) : errorCosts.error * factors.wrong;
  const right = errorCosts.isByClass ? 0 : errorCosts.error * factors.correct;
  return {
    features: cost,
    errors: coverage * ((1 - correct) * wrong + correct * right),
    rejections: (errorCosts.reject ?? 0) * (1 - coverage) * factors.rejected,
  };
}

const totalOfParts = ({ features, errors, rejections }) => features + errors + rejections;

/** The factors of the design or reference at a place in lists; 1 and 0 if costs are single numbers. */
const factorsOf = (lists, i) => ({
  correct: lists?.correct?.[i] ?? 0,
  wrong: lists?.wrong?.[i] ?? 1,
  rejected: lists?.rejected?.[i] ?? 1,
});

/** Whether the costs are still those of the search, which knows the totals of its designs best. */
const areSearched = () =>
  Boolean(TOLD?.searched) &&
  errorCosts.reject === TOLD.reject &&
  errorCosts.isByClass === Boolean(TOLD.by_class) &&
  (TOLD.by_class ? TOLD.by_class.every((one, k) => errorCosts.ofClass[k] === one) : errorCosts.error === TOLD.error);

/** The parts of a design's total, from expected figures if there are any. */
function partsOfDesign(i) {
  if (areSearched()) {
    const [features, errors, rejections] = TOLD.searched[i];
    return { features, errors, rejections };
  }
  const from = TOTALS_FROM === "expected" ? EXPECTED : FIGURES;
  const correct = from === EXPECTED ? EXPECTED.accuracy[i] : shareCorrect(i, "scored");
  return partsOf(
    { coverage: from.coverage[i], correct, cost: from.cost[i] },
    factorsOf(TOLD?.designs, i),
    DESIGN_MIXES[i],
  );
}

const totalOf = (i) => totalOfParts(partsOfDesign(i));

/** The label of least cost for everyone, where errors have a price by class; null if it is the commonest class. */
function cheapestLabel() {
  if (!errorCosts.isByClass) return null;
  const { rows } = CLASSES.scored;
  const totals = rows.map((count, given) => {
    const counts = rows.flatMap((all) => rows.map((_, label) => (label === given ? all : 0)));
    const figures = { coverage: 1, correct: count / (sumOf(rows) || 1), cost: 0 };
    return totalOfParts(partsOf(figures, factorsOf(null, 0), mixOfErrors(counts, rows)));
  });
  const given = totals.indexOf(Math.min(...totals));
  if (given === rows.indexOf(Math.max(...rows))) return null;
  const accuracy = IS_PLAIN ? rows[given] / (sumOf(rows) || 1) : 1 / rows.length;
  const label = DATA.commonest.startsWith("'") ? `'${FEW_LABELS[given]}'` : FEW_LABELS[given];
  return { title: `always ${label}`, coverage: 1, accuracy, cost: 0, total: totals[given] };
}

/** What there is without a cascade on the scored rows, with totals if there are costs. */
function pricedReferences() {
  if (!hasErrorCosts()) return REFERENCES;
  const known = REFERENCES.map((one, i) => ({
    ...one,
    total: totalOfParts(partsOf(one, factorsOf(TOLD?.references, i), REFERENCE_MIXES[i])),
  }));
  const label = cheapestLabel();
  if (label) known.push(label);
  if (errorCosts.reject !== null) {
    const total = errorCosts.reject * factorsOf(TOLD?.everyone, 0).rejected;
    known.push({ title: "reject everyone", coverage: 0, accuracy: null, cost: 0, total });
  }
  return known;
}

/** The design with the lowest total among some. */
const cheapestOf = (designs) => firstBy(designs, (i) => [totalOf(i), DATA.stages[i].length]);

/** The total of a design and its parts in a sentence; none without costs. */
function totalInWords(design) {
  if (!hasErrorCosts()) return "";
  const parts = partsOfDesign(design);
  const words = Object.entries(parts).map(([name, value]) => `${name} ${price(value)}`);
  const kind = capital(TOTALS_FROM);
  return `${kind} total of a row: ${price(totalOfParts(parts))} (${words.join(", ")}).`;
}

/** The total of the best design, and what would cost less without a cascade; nothing without costs. */
function totalNotes(design) {
  if (!hasErrorCosts()) return [];
  const notes = [totalInWords(design)];
  const others = pricedReferences().filter(({ total }) => total < totalOf(design));
  if (others.length) {
    const { title, total } = others.reduce((best, one) => (one.total < best.total ? one : best));
    notes.push(`Less without a cascade: ${title}, ${price(total)}.`);
  }
  return notes;
}

/** What is missing before there are totals, or what the sliders mean. */
function aboutErrorCosts() {
  if (hasErrorCosts() && TOLD?.designs.wrong && !errorCosts.isByClass)
    return "Your costs differ by class: the sliders show their means, and change all of them alike.";
  if (hasErrorCosts() && TOLD?.designs.rejected)
    return "Your costs of a rejection differ by class: the slider shows their mean, and changes all of them alike.";
  if (hasErrorCosts()) return "In the unit of the feature costs. The design with the lowest total is chosen.";
  if (hasErrorPrices()) return "Set the cost of a rejection too.";
  if (errorCosts.isByClass) return "Set a cost for each class, and for a rejection.";
  if (errorCosts.reject !== null) return "Set the cost of an error too.";
  return "Set both to find the design with the lowest total of features, errors and rejections.";
}

/** The end of a slider: a round number above a cost that is often meant, and above the one set. */
function mostOf({ times, get }) {
  const wanted = Math.max(times * (DATA.total || 1), 2 * (get() ?? 0));
  const unit = 10 ** Math.floor(Math.log10(wanted));
  return Math.ceil(wanted / unit) * unit;
}

/** A slider and a box for a cost; an empty box is no cost. */
function makeErrorCost(one, changed) {
  const { name, title } = one;
  const most = mostOf(one);
  const about = { min: 0, max: most, step: most / 200, value: one.get() ?? 0 };
  const slider = element("input", { type: "range", id: `${name}-cost`, ...about });
  const box = element("input", {
    type: "number",
    inputMode: "decimal",
    id: `${name}-cost-box`,
    min: 0,
    step: "any",
    value: one.get() ?? "",
    "aria-label": title,
  });
  const say = () =>
    slider.setAttribute("aria-valuetext", one.get() === null ? "not set" : priced(number(one.get())));
  const set = (value) => {
    one.set(value);
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
  one.begin = (value) => {
    box.value = value ?? "";
    set(value);
  };
  one.show = () => {
    shown.hidden = !one.isUsed();
  };
  say();
  const shown = element(
    "div",
    { className: "limit", hidden: !one.isUsed() },
    element("label", { for: slider.id }, title),
    element("span", { className: "unit" }, ...besideUnit(box)),
    slider,
  );
  return shown;
}

/** Two buttons: one price for all errors, or one for each class, which begins at the price for all. */
function makeErrorCostsSwitch(changed) {
  if (!FEW_LABELS.length) return;
  const buttons = [
    ["one", "One price", false],
    ["by-class", "By class", true],
  ].map(([name, text, isByClass]) => {
    const about = { type: "button", className: "quiet", id: `error-costs-${name}` };
    const button = element("button", { ...about, "aria-pressed": `${isByClass === errorCosts.isByClass}` }, text);
    button.addEventListener("click", () => {
      errorCosts.isByClass = isByClass;
      for (const one of ERROR_COSTS) {
        one.show();
        if (isByClass && one.name.startsWith("error-")) one.begin(one.get() ?? errorCosts.error);
      }
      for (const other of buttons) other.setAttribute("aria-pressed", `${other === button}`);
      changed();
    });
    return button;
  });
  byId("error-costs-switch").hidden = false;
  byId("error-costs-switch").append(...buttons);
}
