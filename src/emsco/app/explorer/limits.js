// The reader's limits, a slider and a box for each, and the design that they choose. An empty box is no limit.

const share = (name, title, values, isQuality = true) => ({ name, title, values, isQuality, per: 100, isShare: true });

const CLASS_LIMITS = FEW_LABELS.map((label, k) => {
  const rows = CLASSES.scored.rows[k] || 1;
  const found = EVERY.map((i) => CLASSES.scored.counts[i][k * FEW_LABELS.length + k] / rows);
  return share(`recall-${k}`, `Minimum recall of ${label}`, found);
});

const LIMITS = [
  { name: "cost", title: "Maximum cost", values: FIGURES.cost, per: 1, isShare: false },
  share("accuracy", `Minimum ${DATA.metric}`, FIGURES.accuracy),
  share("coverage", "Minimum coverage", FIGURES.coverage, false),
  ...CLASS_LIMITS,
];
const NO_LIMITS = Object.fromEntries(LIMITS.map(({ name }) => [name, name === "cost" ? Infinity : 0]));

const isSet = ({ name }, limits) => limits[name] !== NO_LIMITS[name];

const isWithin = (i, limits) =>
  LIMITS.every(({ name, values }) =>
    name === "cost" ? values[i] <= limits.cost : values[i] >= limits[name],
  );

/** What limits ask for: "quality" of labels, "coverage", "both", or "any" design; null without limits. */
function askedBy(limits) {
  const given = LIMITS.filter((one) => isSet(one, limits));
  if (!given.length) return null;
  const quality = given.some(({ isQuality }) => isQuality);
  if (quality) return limits.coverage ? "both" : "quality";
  return limits.coverage ? "coverage" : "any";
}

/** The design with the smallest key among some, where a key is two numbers; null if there are none. */
function firstBy(designs, key) {
  let [found, least] = [null, null];
  for (const i of designs) {
    const now = key(i);
    if (found !== null && (now[0] > least[0] || (now[0] === least[0] && now[1] >= least[1]))) continue;
    [found, least] = [i, now];
  }
  return found;
}

const answersEveryone = (i) => FIGURES.coverage[i] === 1;

/** The design that limits choose among those within them: the same as `ParetoFront.select`. */
function bestBy(asked, within) {
  const { cost, accuracy, coverage } = FIGURES;
  const buying = within.filter((i) => !buysNothing(i));
  const informative = buying.filter((i) => !UNINFORMATIVE.has(i));
  const among = [informative, buying, within].find((designs) => designs.length) ?? [];
  if (asked === "both") return firstBy(among, (i) => [cost[i], -accuracy[i]]);
  if (asked === "quality") return firstBy(among, (i) => [-coverage[i], cost[i]]);
  const mostAccurate = (designs) => firstBy(designs, (i) => [-DATA.steadied[i], cost[i]]);
  if (asked === "coverage") return mostAccurate(among);
  const answering = among.filter(answersEveryone);
  if (answering.length) return mostAccurate(answering);
  return firstBy(among, (i) => [-coverage[i] * DATA.steadied[i], cost[i]]);
}

/** What limits choose, in words, before the number of the design. */
function choiceInWords(asked, best, within) {
  if (asked !== "any" || answersEveryone(best)) return `${capital(DATA.chooses[asked])} within your limits: `;
  const none = within.some(answersEveryone) ? "" : "No design within your limits answers everyone. ";
  return `${none}The one that labels most rows correctly: `;
}

/** How far all designs reach, for a reader whose limits leave none. */
function reachInWords(limits) {
  const words = [`the lowest cost is ${figure("cost", extremes("cost")[0])}`];
  for (const { name, title, values } of LIMITS.slice(1))
    if (!name.startsWith("recall") || limits[name])
      words.push(`the highest ${title.replace("Minimum ", "")} ${percent(Math.max(...ends(values)))}`);
  const missed = CLASS_LIMITS.some((one) => isSet(one, limits));
  const weights = " A fit with class weights, or with prices of errors, finds more of a rare class.";
  return `Loosen a limit: over all designs, ${words.join(", ")}.${missed ? weights : ""}`;
}

/** A box for a cost with the currency on the side where it is written. */
const besideUnit = (box) => {
  if (CURRENCY === null) return [box];
  return SIGN_FIRST ? [`${CURRENCY} `, box] : [box, ` ${CURRENCY}`];
};

/** The lowest and the highest of some values. */
const ends = (values) => values.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, -Infinity]);

/** A range of round numbers around all values of a figure, and the step of its slider. */
function rangeOf({ values, per }) {
  const [low, high] = ends(values).map((value) => value * per);
  const digits = Math.min(
    12,
    Math.max(0, -Math.floor(Math.log10((high - low || Math.abs(high) || 1) / 100))),
  );
  const step = Math.max(10 ** -digits, 10 ** Math.floor(Math.log10((high - low || 1) / 100)));
  const round = (value) => Number(value.toFixed(digits));
  return {
    low: round(Math.floor(low / step) * step),
    high: round(Math.ceil(high / step) * step),
    step: round(step),
  };
}

/** A slider and a box for numbers, which show the same value; the box is empty without a limit. */
function makeLimit(limit) {
  const { low, high, step } = rangeOf(limit);
  const open = limit.name === "cost" ? high : low;
  const about = { min: low, max: high, step };
  const slider = element("input", { type: "range", id: `limit-${limit.name}`, ...about, value: open });
  const box = element("input", {
    type: "number",
    inputMode: "decimal",
    id: `box-${limit.name}`,
    ...about,
    placeholder: "any",
    "aria-label": `${limit.title}${limit.isShare ? ", in per cent" : ""}`,
  });
  const meant = element("button", { type: "button", className: "quiet", hidden: true });
  // The reader may type 0.9 and mean 90 %. Ask, because 0.9 % is a valid limit too.
  const ask = (ended) => {
    const value = Number(box.value);
    meant.hidden = !limit.isShare || value <= 0 || (ended ? value > 1 : value >= 1);
    if (meant.value === `${Number((100 * value).toPrecision(12))}`) return;
    // WebKit drops a click if the text of the button changes during it.
    meant.value = Number((100 * value).toPrecision(12));
    meant.textContent = `Did you mean ${meant.value} %?`;
  };
  const say = (value) => {
    const bound = limit.isShare ? `at least ${number(value)} per cent` : `at most ${priced(number(value))} per row`;
    slider.setAttribute("aria-valuetext", value === null ? "no limit" : bound);
  };
  /** Set the limit to a number, or remove it with null. */
  const set = (value) => {
    // Round to the number that the reader typed: 93.1 / 100 is not exactly 0.931.
    const exact = value === null ? NO_LIMITS[limit.name] : Number((value / limit.per).toPrecision(12));
    state.limits = { ...state.limits, [limit.name]: exact };
    say(value);
    schedule();
  };
  slider.addEventListener("input", () => {
    const isOpen = Number(slider.value) === open;
    box.value = isOpen ? "" : slider.value;
    meant.hidden = true;
    set(isOpen ? null : Number(slider.value));
  });
  const read = () => {
    ask(false);
    // Half a number, such as "-", is empty too, but not a wish to remove the limit.
    if (box.validity.badInput || !Number.isFinite(Number(box.value))) return;
    slider.value = box.value === "" ? open : box.value;
    set(box.value === "" ? null : Number(box.value));
  };
  box.addEventListener("input", read);
  box.addEventListener("change", () => ask(true)); // while the reader types, 1 may become 100
  meant.addEventListener("click", () => {
    box.value = meant.value;
    read();
    box.focus();
  });
  say(null);
  limit.reset = () => {
    slider.value = open;
    box.value = "";
    meant.hidden = true;
    set(null);
  };
  const unit = element("span", { className: "unit" }, ...(limit.isShare ? [box, " %"] : besideUnit(box)));
  return element(
    "div",
    { className: "limit" },
    element("label", { for: slider.id }, limit.title),
    unit,
    element("div", { className: "meant", role: "status" }, meant),
    slider,
  );
}
