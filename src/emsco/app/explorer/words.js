// The data of the page, and functions that turn numbers and names into words.

const DATA = JSON.parse(document.getElementById("data").textContent);
const OBJECTIVES = ["cost", "accuracy", "coverage"];
const IS_PLAIN = DATA.metric === "accuracy";
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const TITLES = { cost: "Cost", accuracy: capital(DATA.metric), coverage: "Coverage" };
const FIGURES = DATA.scored;
const ROUNDING = 1e-8; // a smaller share of rows is rounding: weights have ten digits

const EVERY = Array.from(DATA.stages, (_, i) => i);
const HIDDEN = new Set(DATA.hidden); // they reject everyone for nothing: only totals choose them
const ALL = EVERY.filter((i) => !HIDDEN.has(i));
const N = ALL.length;
const N_EVERY = EVERY.length; // the number that readers see, as on the command line
const SORTED = Object.fromEntries(
  OBJECTIVES.map((name) => [
    name,
    [...ALL].sort((a, b) => FIGURES[name][a] - FIGURES[name][b] || a - b),
  ]),
);

const SHORTLIST = new Set(DATA.shortlist ?? ALL);
const HAS_SHORTLIST = DATA.shortlist !== null;
const UNINFORMATIVE = new Set(DATA.uninformative);
const SIMPLIFIED = new Set(DATA.simplified);
const REFERENCES = DATA.references.scored;
const NO_BETTER = `no better than always answering ${DATA.commonest}`;

const sumOf = (numbers) => numbers.reduce((total, one) => total + one, 0);

/** The lowest and the highest value of an objective. */
const extremes = (name) => [FIGURES[name][SORTED[name][0]], FIGURES[name][SORTED[name].at(-1)]];

const figuresOf = (i) => Object.fromEntries(OBJECTIVES.map((name) => [name, FIGURES[name][i]]));

const byId = (id) => document.getElementById(id);

/** Make an element with properties and children; text in it is never read as markup. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** Turn a button on or off; unlike a disabled button, it keeps the focus. */
const enable = (id, useful) => byId(id).setAttribute("aria-disabled", `${!useful}`);

/** Run an action when a button is pressed, unless it is turned off. */
function onPress(id, action) {
  byId(id).addEventListener("click", () => {
    if (byId(id).getAttribute("aria-disabled") !== "true") action();
  });
}

/** Format a share of rows; only exactly 0 and 1 read as 0 % and 100 %. */
function percent(share, digits = 1) {
  const least = 10 ** -digits;
  if (share > 0 && 100 * share < least / 2) return `< ${least} %`;
  if (share < 1 && 100 - 100 * share < least / 2) return `> ${(100 - least).toFixed(digits)} %`;
  return `${(100 * share).toFixed(digits)} %`;
}

/** Format a cost or a count with at most six digits and separators of thousands. */
const number = (value) =>
  Number(Number(value).toPrecision(6)).toLocaleString("en-GB", { maximumFractionDigits: 6 });

const CURRENCY = DATA.currency;
const SIGN_FIRST = CURRENCY !== null && /\p{Sc}/u.test(CURRENCY);

/**
 * The decimals of all amounts of money: two with a sign such as €, unless all costs are below one. Else enough to
 * tell mean costs apart, and for cents if features have any.
 */
function decimalsOfMoney() {
  const telling = 3 - Math.floor(Math.log10(extremes("cost")[1] || 1));
  if (SIGN_FIRST) return Math.min(9, Math.max(2, telling - 1));
  const given = [...DATA.costs, ...DATA.fees.map((fee) => fee.cost), DATA.evaluation];
  const cents = [0, 1].find((digits) => given.every((cost) => Number(cost.toFixed(digits)) === cost));
  return Math.min(9, Math.max(cents ?? 2, telling));
}

const DECIMALS = decimalsOfMoney();

/** Put the currency beside the text of a cost: "€12", but "12 EUR" and "12 minutes". */
function priced(text) {
  if (CURRENCY === null) return text;
  return SIGN_FIRST ? `${CURRENCY}${text}` : `${text}\u00a0${CURRENCY}`;
}

/** The title of a column or an axis of costs, with the unit. */
const withUnit = (title) => (CURRENCY === null ? title : `${title} (${CURRENCY})`);

/** Format an amount of money, with its unit; all have the same decimals, and only 0 reads as 0. */
function price(value) {
  const least = 10 ** -DECIMALS;
  const digits = { minimumFractionDigits: DECIMALS, maximumFractionDigits: DECIMALS };
  if (value > 0 && value < least / 2) return `< ${priced(least.toFixed(DECIMALS))}`;
  return priced(value.toLocaleString("en-GB", digits));
}

const figure = (objective, value) => (objective === "cost" ? price(value) : percent(value));

/** A count of rows to the nearest whole number: weights and repeated splits make fractions. */
const amount = (count) =>
  count >= 1 || count === 0 ? Math.round(count).toLocaleString("en-GB") : `${Number(count.toPrecision(1))}`;

const rowsOf = (count) => `${amount(count)} ${amount(count) === "1" ? "row" : "rows"}`;

/** At most `most` characters of a text; an ellipsis marks a cut. */
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const designsOf = (count) => `${number(count)} ${count === 1 ? "design" : "designs"}`;

const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/** Confidence that a label needs: one number, or pairs of a label and its number. */
const leastOf = (least) =>
  typeof least === "number"
    ? `${number(100 * least)} %`
    : least.map(([label, one]) => `${label}: ${number(100 * one)} %`).join("; ");

const answersAll = (least) =>
  typeof least === "number" ? !least : least.every(([, one]) => !one);

/** Thresholds of the stages of a design; none if all stages share one. */
function ownThresholds(design) {
  const own = DATA.own_thresholds?.[design] ?? [];
  const [first, ...others] = own.map((least) => JSON.stringify(least));
  return others.some((least) => least !== first) ? own : [];
}

/** The stages of a design, as in "age, pulse → scan" or "age, pulse at 90 % → scan for all". */
function arrows(design) {
  if (buysNothing(design))
    return `buys nothing, ${HIDDEN.has(design) ? "rejects" : "answers"} everyone`;
  const own = ownThresholds(design);
  const words = DATA.stages[design].map((stage, j) => {
    const names = stage.map((f) => DATA.features[f]).join(", ") || "nothing more";
    if (!own.length) return names;
    return `${names} ${answersAll(own[j]) ? "for all" : `at ${leastOf(own[j])}`}`;
  });
  const tree = DATA.trees[design];
  if (!tree) return words.join(" → ");
  const from = (stage) => {
    const after = stagesAfter(tree, stage);
    const parts = after.map((next) => `${tree.ways[next]}: ${from(next)}`);
    if (after.length === 1) return `${words[stage]} → ${from(after[0])}`;
    return after.length ? `${words[stage]} → {${parts.join(" | ")}}` : words[stage];
  };
  return from(0);
}

/** The stages that come after a stage of a design that branches. */
const stagesAfter = (tree, stage) =>
  tree.before.flatMap((before, next) => (before === stage ? [next] : []));

/** Whether a design decides every row at once, for nothing. */
const buysNothing = (design) => !DATA.stages[design].flat().length;

/** Features that no stage of a design buys. */
function leftOut(design) {
  const bought = new Set(DATA.stages[design].flat());
  return DATA.features.filter((_, feature) => !bought.has(feature));
}

/** Parts as whole numbers that add up to their sum; those that lose most are rounded up, as in Python. */
function addUp(parts) {
  if (sumOf(parts) < 1) return parts;
  const whole = parts.map(Math.floor);
  const lost = parts.map((part, i) => Math.round(1e6 * (part - whole[i])));
  const mostLost = parts.map((_, i) => i).sort((a, b) => lost[b] - lost[a]);
  for (const i of mostLost.slice(0, Math.round(sumOf(parts)) - sumOf(whole))) whole[i] += 1;
  return whole;
}

/** Give every stage of a flow `inRows`, whole numbers of rows that add up, for readers; return their sums. */
function countInRows(stages, tree) {
  const left = addUp([...stages.map((one) => one.left), ...stages.map((one) => one.rejected)]);
  const rejected = left.splice(stages.length);
  const before = tree ? tree.before : stages.map((_, stage) => stage - 1);
  const reached = reachingOf({ before }, left, rejected);
  const corrects = addUp(stages.map((one) => one.correct));
  stages.forEach((stage, j) => {
    const correct = Math.min(left[j], corrects[j]);
    stage.inRows = { reached: reached[j], left: left[j], correct, wrong: left[j] - correct, rejected: rejected[j] };
  });
  const sum = (name) => sumOf(stages.map(({ inRows }) => inRows[name]));
  return { rows: reached[0], left: sum("left"), correct: sum("correct"), wrong: sum("wrong"), rejected: sum("rejected") };
}

/**
 * Count the rows that reach and leave each stage of a design: `which` is "scored" or "seen".
 * The file holds only the rows that leave; the rows that reach a stage follow from these.
 */
function flowOf(design, which) {
  const figures = DATA[which];
  const paid = DATA.paid[design];
  const total = figures.rows[design];
  const rest = (rows, less) => (rows - less > ROUNDING * total ? rows - less : 0);
  const own = DATA.own_thresholds?.[design] ?? [];
  const tree = DATA.trees[design];
  const reaching = tree && reachingOf(tree, figures.left[design], figures.rejected[design]);
  let reached = total;
  const stages = DATA.stages[design].map((features, stage) => {
    const left = figures.left[design][stage];
    const correct = figures.correct[design][stage];
    const before = tree ? tree.before[stage] : stage - 1;
    if (tree) reached = reaching[stage];
    const found = {
      features,
      before,
      least: own[stage] ?? DATA.thresholds,
      cost: paid[stage] - (before >= 0 ? paid[before] : 0),
      costSoFar: paid[stage],
      delaySoFar: DATA.waits ? DATA.waits[design][stage] : 0,
      reached,
      left,
      correct,
      wrong: rest(left, correct),
      staying: rest(reached, left),
      rejected: tree ? figures.rejected[design][stage] : 0,
    };
    reached = found.staying;
    return found;
  });
  if (!tree) stages.at(-1).rejected = reached;
  const rejected = sumOf(stages.map((stage) => stage.rejected));
  return { stages, rows: total, rejected, tree, inRows: countInRows(stages, tree) };
}

/** Rows that reach each stage of a design that branches: those that leave there or further on. */
function reachingOf(tree, left, rejected) {
  const reaching = left.map((rows, stage) => rows + rejected[stage]);
  for (let stage = reaching.length - 1; stage > 0; stage -= 1)
    reaching[tree.before[stage]] += reaching[stage];
  return reaching;
}

/** List the possible costs of a row, with the number of rows at each. */
function spendingOf(flow) {
  const rows = new Map();
  for (const stage of flow.stages) {
    const [count, share] = rows.get(stage.costSoFar) ?? [0, 0];
    const leaving = (stage.left + stage.rejected) / (flow.rows || 1);
    rows.set(stage.costSoFar, [count + stage.inRows.left + stage.inRows.rejected, share + leaving]);
  }
  const sorted = [...rows].sort(([one], [other]) => one - other);
  return sorted.map(([cost, [count, share]]) => ({ cost, rows: count, share }));
}

/** The time that a row waits on average; rejected rows wait for all stages on their path. */
function meanDelay(flow) {
  const waited = ({ left, rejected, delaySoFar }) => (left + rejected) * delaySoFar;
  return sumOf(flow.stages.map(waited)) / (flow.rows || 1);
}

/** Compare a cost with the cost of all features, in words. */
function thanAllFeatures(cost) {
  const saved = 1 - cost / DATA.total;
  if (Math.abs(saved) < 0.005) return "as much as all features";
  return `${percent(Math.abs(saved), 0)} ${saved > 0 ? "less" : "more"} than all features`;
}

/** Describe the figures of a design in a few sentences. */
function inWords(design, which) {
  const flow = flowOf(design, which);
  const { left, correct, wrong, rejected } = flow.inRows;
  const rows = which === "seen" ? "test rows" : "scored rows";
  return (
    `Of ${amount(flow.inRows.rows)} ${rows}, ${amount(left)} get a label: ${amount(correct)} correct, ` +
    `${wrong ? amount(wrong) : "none"} wrong. ${rejected ? amount(rejected) : "None"} ` +
    `${amount(rejected) === "1" ? "is" : "are"} rejected. A row costs ${price(DATA[which].cost[design])} on average, ` +
    `${thanAllFeatures(DATA[which].cost[design])} (${price(DATA.total)}).` +
    (DATA.waits
      ? ` It waits ${number(meanDelay(flow))} on average, ${number(Math.max(...flow.stages.map((stage) => stage.delaySoFar)))} at worst.`
      : "")
  );
}

/** The name of an objective in a sentence; test rows have the plain accuracy only. */
const nameOf = (objective, which = "scored") =>
  objective === "accuracy" && which !== "seen" ? DATA.metric : objective;

/** The three objectives of a design on one line. */
const inShort = (design, which = "scored") =>
  OBJECTIVES.map(
    (name) => `${nameOf(name, which)} ${figure(name, DATA[which][name][design])}`,
  ).join(", ");

/** The share of the labels of a design that are correct. */
function shareCorrect(design, which) {
  return sumOf(DATA[which].correct[design]) / (sumOf(DATA[which].left[design]) || 1);
}

/** A colour of the style sheet as it is now, light or dark. */
const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
