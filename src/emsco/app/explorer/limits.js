// The reader's limits: a slider and a box for each objective. An empty box is no limit.

const LIMITS = [
  { name: "cost", title: "Maximum cost", per: 1, isShare: false },
  { name: "accuracy", title: `Minimum ${DATA.metric}`, per: 100, isShare: true },
  { name: "coverage", title: "Minimum coverage", per: 100, isShare: true },
];

/** A box for a cost with the currency on the side where it is written. */
const besideUnit = (box) => {
  if (CURRENCY === null) return [box];
  return SIGN_FIRST ? [`${CURRENCY} `, box] : [box, ` ${CURRENCY}`];
};

/** A range of round numbers around all values of an objective, and the step of its slider. */
function rangeOf({ name, per }) {
  const [low, high] = extremes(name).map((value) => value * per);
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

/** A slider and a box for numbers, which show the same value; a limit that excludes nothing is empty. */
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
  const isLoose = (value) => (limit.name === "cost" ? value >= high : value <= low);
  const say = (value) =>
    slider.setAttribute(
      "aria-valuetext",
      isLoose(value)
        ? "no limit"
        : limit.isShare
          ? `at least ${number(value)} per cent`
          : `at most ${price(value)} per row`,
    );
  const set = (value) => {
    const outermost = limit.name === "cost" ? Infinity : 0;
    // Round to the number that the reader typed: 93.1 / 100 is not exactly 0.931.
    const exact = Number((value / limit.per).toPrecision(12));
    state.limits = { ...state.limits, [limit.name]: isLoose(value) ? outermost : exact };
    say(value);
    schedule();
  };
  slider.addEventListener("input", () => {
    box.value = isLoose(Number(slider.value)) ? "" : slider.value;
    meant.hidden = true;
    set(Number(slider.value));
  });
  const read = () => {
    ask(false);
    // Half a number, such as "-", is empty too, but not a wish to remove the limit.
    if (box.validity.badInput || !Number.isFinite(Number(box.value))) return;
    slider.value = box.value === "" ? open : box.value;
    set(box.value === "" ? open : Number(box.value));
  };
  box.addEventListener("input", read);
  box.addEventListener("change", () => ask(true)); // while the reader types, 1 may become 100
  meant.addEventListener("click", () => {
    box.value = meant.value;
    read();
    box.focus();
  });
  say(open);
  limit.reset = () => {
    slider.value = open;
    box.value = "";
    meant.hidden = true;
    set(open);
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
