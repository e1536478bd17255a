// The page: limits, the designs within them, the chosen design, and the controls.

const OUTSIDE = "outside your limits";
const WARNINGS = [OUTSIDE, NO_BETTER];

const state = {
  limits: NO_LIMITS,
  within: ALL,
  best: null, // chosen by limits or prices
  chosen: DATA.deployed ?? bestBy("any", ALL),
  followsBest: true,
  which: "scored",
  all: !HAS_SHORTLIST, // whether all designs are shown alike, or the shortlist stands out
};

const isListed = (i) => state.all || SHORTLIST.has(i);

/** How much a design stands out: 0 outside the limits, 1 not on the shortlist that is shown, else 2. */
const prominence = (i) => (isWithin(i, state.limits) ? 1 + isListed(i) : 0);

let scheduled = 0;

/** Redraw at most once a frame, however fast a limit is dragged. */
function schedule() {
  scheduled ||= requestAnimationFrame(() => {
    scheduled = 0;
    limit();
    draw();
  });
}

/** Whether the reader has said what to choose: by limits, or by prices of errors. */
const isAsked = () => hasErrorCosts() || askedBy(state.limits) !== null;

/** Designs within the limits that reject everyone for nothing. */
const rejectingWithin = () => [...HIDDEN].filter((i) => isWithin(i, state.limits));

/** The same, if they can be chosen: only a price of rejections takes one. */
const hiddenWithin = () => (errorCosts.reject === null ? [] : rejectingWithin());

/** The number of designs within the limits. */
const countWithin = () => state.within.length + rejectingWithin().length;

/** The design with the lowest total within the limits, or else the one that the limits choose. */
function bestWithin() {
  if (hasErrorCosts()) return cheapestOf([...state.within, ...hiddenWithin()]);
  return isAsked() ? bestBy(askedBy(state.limits), state.within) : null;
}

/** The design to return to; null if there is none. */
const homeDesign = () => (isAsked() ? state.best : DATA.deployed);

/** Find the designs within the limits, and the best of them. */
function limit() {
  state.within = ALL.filter((i) => isWithin(i, state.limits));
  state.best = bestWithin();
  if (state.followsBest) state.chosen = homeDesign() ?? state.chosen;
}

function choose(design, follow = false) {
  state.chosen = design;
  state.followsBest = follow;
  draw();
}

let described = "";

function draw() {
  scatter.draw(state);
  table.draw(state);
  const left = countWithin();
  byId("count").textContent =
    left === N_EVERY && left > 1
      ? `All ${number(left)} designs are within these limits.`
      : `${number(left)} of ${designsOf(N_EVERY)} ${left === 1 ? "is" : "are"} within these limits.`;
  if (HAS_SHORTLIST) {
    const kept = state.within.filter((i) => SHORTLIST.has(i)).length;
    byId("count").append(` The shortlist has ${kept ? number(kept) : "none"} of them.`);
  }
  byId("error-costs-words").textContent = aboutErrorCosts();
  enable("reset-error-costs", ERROR_COSTS.some((one) => one.get() !== null));
  drawBest();
  drawReferences();
  drawListSwitches();
  byId("total").textContent = totalInWords(state.chosen);
  const place = [state.best === state.chosen, hasErrorCosts(), isWithin(state.chosen, state.limits)];
  const now = `${state.chosen} ${state.which} ${place}`;
  if (now !== described) drawDesign();
  described = now;
  enable("previous", beside("cost", -1) !== state.chosen);
  enable("next", beside("cost", 1) !== state.chosen);
  say();
}

/** Why a design stands in the box below the limits: the reader's wishes chose it, or it is deployed. */
function whyHome(design) {
  if (!isAsked()) return "Deployed: ";
  return hasErrorCosts() ? "Lowest total: " : choiceInWords(askedBy(state.limits), design, state.within);
}

function drawBest() {
  const home = homeDesign();
  byId("show-best").textContent = hasErrorCosts() ? "Show the lowest total" : isAsked() ? "Show the chosen" : "Show the deployed";
  enable("show-best", home !== null && home !== state.chosen);
  byId("best").classList.toggle("none", isAsked() && home === null);
  const parts = [];
  if (isAsked() && home === null)
    parts.push(
      element("strong", {}, "No design is within these limits."),
      element("p", {}, reachInWords(state.limits)),
    );
  if (home !== null) {
    const first = DATA.stages[home][0].map((feature) => DATA.features[feature]);
    parts.push(
      element("p", {}, whyHome(home), element("strong", {}, `design ${home}`)),
      figuresTable(home, OBJECTIVES),
      ...totalNotes(home).map((words) => element("p", {}, words)),
      element("p", { className: "note" }, `Stage 1 buys ${listed(first) || "nothing"} for every row.`),
    );
  }
  if (!isAsked())
    parts.push(element("p", { className: "note" }, "Set limits, or what errors cost, to have a design chosen."));
  byId("best").replaceChildren(...parts);
}

let saying = 0;

/** Tell screen readers about the design, once the reader stops dragging. */
function say() {
  clearTimeout(saying);
  saying = setTimeout(() => {
    const outside = isWithin(state.chosen, state.limits) ? "" : `, ${OUTSIDE}`;
    byId("live").textContent =
      `Design ${state.chosen} is shown${outside}: ${state.which} ${inShort(state.chosen, state.which)}. ` +
      (EXPECTED ? `On new rows, ${expectsInShort(state.chosen)}. ` : "") +
      `Within the limits: ${number(countWithin())} of ${designsOf(N_EVERY)}.`;
  }, 300);
}

function drawDesign() {
  const { chosen, which } = state;
  byId("design-heading").textContent = `Design ${chosen}`;
  const badges = [
    chosen === DATA.deployed && "deployed",
    CERTIFIED.has(chosen) && "certified",
    chosen === state.best && (hasErrorCosts() ? "lowest total" : "chosen by your limits"),
    HAS_SHORTLIST && SHORTLIST.has(chosen) && "on the shortlist",
    SIMPLIFIED.has(chosen) && "simplified",
    UNINFORMATIVE.has(chosen) && NO_BETTER,
    !isWithin(chosen, state.limits) && OUTSIDE,
    `${DATA.stages[chosen].length} ${DATA.stages[chosen].length === 1 ? "stage" : "stages"}`,
  ];
  byId("badges").replaceChildren(
    ...badges
      .filter(Boolean)
      .flatMap((text) => [
        element("span", { className: WARNINGS.includes(text) ? "badge outside" : "badge" }, text),
        " ",
      ]),
  );
  byId("in-words").textContent = inWords(chosen, which);
  byId("expects").textContent = expectsInWords(chosen);
  const flow = flowOf(chosen, which);
  drawCascade(byId("cascade"), flow);
  drawSpending(flow, DATA[which].cost[chosen]);
  drawFigures(chosen);
  drawClasses(chosen, which);
  drawAbout(chosen);
  drawCertificate(chosen);
  const place = DATA.deploy.lastIndexOf("{number}");
  byId("deploy").textContent =
    DATA.deploy.slice(0, place) + chosen + DATA.deploy.slice(place + "{number}".length);
  byId("copy").textContent = "Copy";
}

function drawSpending(flow, mean) {
  const bars = spendingOf(flow);
  spending.draw(bars, mean);
  const words = bars
    .filter((bar) => bar.rows)
    .map((bar) => `${rowsOf(bar.rows)} ${amount(bar.rows) === "1" ? "costs" : "cost"} ${price(bar.cost)}`);
  byId("spending-words").textContent =
    `${listed(words)}. All features together cost ${price(DATA.total)} per row.`;
  byId("spending").setAttribute(
    "aria-label",
    `Histogram of the cost of a row. ${byId("spending-words").textContent}`,
  );
}

/** The text of a figure of a design: scored, expected or seen. */
function figureText(which, name, design) {
  if (which === "expected") return OBJECTIVES.includes(name) ? expectedCell(name, design) : "–";
  if (name === "rows") return amount(DATA[which].rows[design]);
  if (name === "correct") return percent(shareCorrect(design, which));
  if (nameOf(name, which) !== nameOf(name)) return "–";
  return figure(name, DATA[which][name][design]);
}

/** A table of figures of a design, with a column for each kind: scored, expected and seen. */
function figuresTable(design, names) {
  const titles = { ...TITLES, correct: "Accuracy", rows: "Rows" };
  const kinds = ["scored", "expected", "seen"].filter((which) => DATA[which]);
  const heads = kinds.map((which) => element("th", { scope: "col" }, capital(which)));
  const lines = names.map((name) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, titles[name]),
      ...kinds.map((which) => element("td", {}, ...[figureText(which, name, design)].flat())),
    ),
  );
  return element(
    "table",
    { className: "figures", "aria-label": `Figures of design ${design}` },
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...lines),
  );
}

function drawFigures(design) {
  const plain = IS_PLAIN ? [] : ["correct"];
  byId("figures").replaceChildren(
    figuresTable(design, ["coverage", "accuracy", ...plain, "cost", "rows"]),
  );
  byId("figures-words").textContent =
    "Scored figures come from the rows that chose these designs, so they are too good, on few rows by several percentage points. " +
    (EXPECTED ? `${ABOUT_EXPECTED} ` : "") +
    (DATA.seen
      ? "Seen figures come from test rows, which neither chose a design nor fitted a model."
      : "There are no test rows, so no seen figures either.");
}

function drawAbout(design) {
  const out = leftOut(design);
  const own = ownThresholds(design);
  const shared = DATA.own_thresholds?.[design]?.[0] ?? DATA.thresholds;
  const single = typeof shared === "number";
  const needed = single ? "Confidence needed for a label" : "Confidence needed for each label";
  const threshold = own.length
    ? ["Confidence needed for a label, by stage", own.map(leastOf).join(" → ")]
    : [needed, leastOf(shared)];
  const others = DATA.tied[design] - 1;
  const facts = [
    ...(SIMPLIFIED.has(design)
      ? [["Simplified", "simpler than the designs of the front, and not worse beyond noise"]]
      : []),
    threshold,
    ["Other designs with the same scored figures", others ? number(others) : "none"],
    ...DATA.facts,
    ["Features never bought", out.length ? out.join(", ") : "none"],
  ];
  byId("about").replaceChildren(
    ...facts.map(([heading, fact]) =>
      element("div", {}, element("dt", {}, heading), element("dd", {}, fact)),
    ),
  );
}

/** The design `by` places further along an objective; skips designs that stand out less than others. */
function beside(objective, by) {
  const order = SORTED[objective];
  const least = state.within.length ? 1 + state.within.some(isListed) : 0;
  const counts = (i) => prominence(i) >= least;
  let found = state.chosen;
  let left = Math.abs(by);
  for (
    let place = order.indexOf(found) + Math.sign(by);
    left && place >= 0 && place < N;
    place += Math.sign(by)
  ) {
    if (!counts(order[place])) continue;
    found = order[place];
    left -= 1;
  }
  return found;
}

const step = (objective, by) => choose(beside(objective, by));

const KEYS = {
  ArrowRight: () => step(scatter.fields.x, 1),
  ArrowLeft: () => step(scatter.fields.x, -1),
  ArrowUp: () => step(scatter.fields.y, 1),
  ArrowDown: () => step(scatter.fields.y, -1),
  Home: () => step(scatter.fields.x, -N),
  End: () => step(scatter.fields.x, N),
  Escape: () => homeDesign() !== null && choose(homeDesign(), true),
};

function listenToScatter() {
  const picture = byId("scatter");
  const hint = byId("hint");
  picture.addEventListener("click", (event) => {
    const found = scatter.at(event);
    if (found !== null) choose(found);
  });
  picture.addEventListener("pointermove", (event) => {
    const found = event.pointerType === "touch" ? null : scatter.at(event);
    hint.hidden = found === null;
    picture.classList.toggle("over", found !== null);
    scatter.point(found);
    if (found === null) return;
    const words = [inShort(found), UNINFORMATIVE.has(found) && NO_BETTER, expectsInShort(found)];
    hint.replaceChildren(
      element("strong", {}, `Design ${found}`),
      element("br"),
      words.filter(Boolean).join("; "),
    );
    const box = hint.parentElement.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - hint.offsetWidth - 8);
    hint.style.left = `${Math.max(8, left)}px`;
    hint.style.top = `${event.clientY - box.top + 18}px`;
  });
  picture.addEventListener("pointerleave", () => {
    hint.hidden = true;
    scatter.point(null);
  });
  picture.addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}

function listenToAxes() {
  const places = ["x", "y", "c"];
  const show = () => {
    for (const place of places) byId(`axis-${place}`).value = scatter.fields[place];
    const { x, y, c } = scatter.fields;
    byId("scatter").setAttribute(
      "aria-label",
      `${number(N_EVERY)} designs: ${x} across, ${y} up, ${c} as colour, the number of stages as shape (${scatter.kinds().map(stageName).join(", ")}).` +
        (REFERENCES.length
          ? ` Crosses: ${listed(REFERENCES.map((one) => one.title))}, without a cascade.`
          : "") +
        (EXPECTED ? " Hollow diamond: what to expect of the design shown, on new rows." : "") +
        (DATA.seen ? " Full diamond: what test rows have seen of it." : ""),
    );
  };
  for (const place of places) {
    byId(`axis-${place}`).append(
      ...OBJECTIVES.map((name) => element("option", { value: name }, TITLES[name])),
    );
    byId(`axis-${place}`).addEventListener("change", (event) => {
      scatter.swap(place, event.target.value);
      show();
    });
  }
  show();
}

async function copy() {
  const text = byId("deploy").textContent;
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(byId("deploy")); // some browsers deny local files the clipboard
    copied = document.execCommand("copy");
  }
  const done = copied ? "Copied" : "Selected"; // selected text can be copied with the keyboard
  byId("copy").textContent = done;
  clearTimeout(saying);
  byId("live").textContent = `${done}: ${text}`;
}

const isDark = () => document.documentElement.dataset.theme === "dark";

async function repaint(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", `Change to ${dark ? "light" : "dark"} colours`);
  await scatter.build();
  await spending.build();
}

function makeFiguresSwitch() {
  if (!DATA.seen) return;
  const buttons = [
    ["scored", "Scored"],
    ["seen", "Seen"],
  ].map(([which, text]) => {
    const button = element(
      "button",
      { type: "button", className: "quiet", "aria-pressed": `${which === state.which}` },
      text,
    );
    button.addEventListener("click", () => {
      state.which = which;
      for (const other of buttons) other.setAttribute("aria-pressed", `${other === button}`);
      draw();
    });
    return button;
  });
  byId("figures-switch").append(...buttons);
}

/** Two buttons that show the shortlist or all designs, in the picture and in the table. */
function makeListSwitch(place) {
  if (!HAS_SHORTLIST) return;
  const buttons = [
    ["shortlist", `Shortlist (${number(SHORTLIST.size)})`, false],
    ["all", `All ${designsOf(N_EVERY)}`, true],
  ].map(([name, text, all]) => {
    const about = { type: "button", className: "quiet", id: `${place}-${name}` };
    const button = element("button", about, text);
    button.addEventListener("click", () => {
      state.all = all;
      table.turn(0);
      draw();
    });
    return button;
  });
  byId(place).hidden = false;
  byId(place).append(...buttons);
}

function drawListSwitches() {
  for (const button of document.querySelectorAll(".list-switch button"))
    button.setAttribute("aria-pressed", `${button.id.endsWith("-all") === state.all}`);
}

function lead() {
  const rows = rowsOf(FIGURES.rows[0]);
  const proof = DATA.proven
    ? "Exact search has proven that no better designs exist."
    : "The search may have missed better designs.";
  return N === 1
    ? `One design, scored on ${rows}. ${proof}`
    : `${designsOf(N_EVERY)}, scored on ${rows}. No design beats another in cost, ${DATA.metric} and ` +
        `coverage at once${SIMPLIFIED.size ? "; a simplified one may be beaten by a little" : ""}. ${proof}`;
}

function fit() {
  scatter.resize();
  spending.resize();
  drawBands(byId("cascade"), flowOf(state.chosen, state.which));
}

byId("lead").textContent = lead();
const scatter = new Scatter(byId("scatter"));
const spending = new Spending(byId("spending"));
const table = new DesignTable(choose);
await repaint(isDark());

// Controls come last, because they redraw pictures that must exist.
byId("limits").append(...LIMITS.filter((one) => !CLASS_LIMITS.includes(one)).map(makeLimit));
byId("class-limits").append(...CLASS_LIMITS.map(makeLimit));
byId("class-limits").hidden = !CLASS_LIMITS.length;
byId("error-costs").append(...ERROR_COSTS.map((one) => makeErrorCost(one, schedule)));
makeErrorCostsSwitch(schedule);
state.best = bestWithin();
makeFiguresSwitch();
makeListSwitch("scatter-switch");
makeListSwitch("table-switch");
byId("limits-words").hidden = !EXPECTED;
drawKey();
listenToScatter();
listenToAxes();
draw();
byId("copy").addEventListener("click", copy);
onPress("show-best", () => choose(homeDesign(), true));
byId("reset").addEventListener("click", () => LIMITS.forEach((one) => one.reset()));
onPress("reset-error-costs", () => ERROR_COSTS.forEach((one) => one.reset()));
onPress("previous", () => step("cost", -1));
onPress("next", () => step("cost", 1));
byId("theme").addEventListener("click", () => repaint(!isDark()));
const wish = matchMedia("(prefers-color-scheme: dark)");
wish.addEventListener("change", () => repaint(wish.matches));
addEventListener("resize", fit);
document.fonts.ready.then(fit);
