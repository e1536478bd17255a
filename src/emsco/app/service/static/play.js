// Play one case by hand. Everything shown is set as text, never as markup.
"use strict";

const at = (id) => document.getElementById(id);
let cascade = null;
let current = null;
let token = "";

const make = (kind, words, mark) => {
  const node = document.createElement(kind);
  if (words !== undefined) node.textContent = words;
  if (mark) node.className = mark;
  return node;
};

const number = (value) => Number(value.toPrecision(6)).toString();

// A cost with its unit: "€12.00", but "12 minutes"; only 0 reads as 0.
function price(value) {
  const unit = cascade.unit;
  if (!unit) return number(value);
  if (!/\p{Sc}/u.test(unit)) return `${number(value)} ${unit}`;
  return `${unit}${value > 0 && value < 0.1 ? number(value) : value.toFixed(2)}`;
}

// Name the run, the column that it decides, and the unit of costs.
function drawServed() {
  const labels = cascade.labels.length <= 6 ? `: ${cascade.labels.join(" or ")}` : "";
  const parts = [
    cascade.run && `Run ${cascade.run}`,
    cascade.target && `decides ${cascade.target}${labels}`,
    cascade.unit ? `costs in ${cascade.unit}` : "costs have no unit",
  ];
  at("served").textContent = `${parts.filter(Boolean).join("; ")}.`;
}

const say = (words) => {
  at("trouble").textContent = words;
  at("trouble").hidden = !words;
};

async function ask(method, path, body, shown = true) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  let response, found;
  try {
    response = await fetch(path, {method, headers, body: text});
    found = await response.json();
  } catch {
    say("The service does not answer. Is it still running?");
    return null;
  }
  if (shown) {
    at("request").textContent = `${method} /${path}${text ? `\n${JSON.stringify(body, null, 2)}` : ""}`;
    at("answer").textContent = `${response.status}\n${JSON.stringify(found, null, 2)}`;
    at("answer").hidden = false;
  }
  at("token-form").hidden = response.status !== 401;
  say(response.ok ? "" : found.error);
  return response.ok ? found : null;
}

function field(name, words, control) {
  const box = make("div", undefined, "field");
  const label = make("label", name === "budget" && !cascade.columns.budget ? "Budget" : name);
  control.id = `field-${document.querySelectorAll(".field").length}-${Date.now()}`;
  control.name = name;
  label.htmlFor = control.id;
  if (words) label.append(" ", make("span", words, "note"));
  box.append(label, control);
  return box;
}

function control(column) {
  if (column.kind === "number") {
    const input = make("input");
    input.inputMode = "decimal";
    input.autocomplete = "off";
    return input;
  }
  const select = make("select");
  const choices = column.kind === "truth" ? ["true", "false"] : column.categories;
  select.append(new Option("", ""), ...choices.map((one) => new Option(one, one)));
  return select;
}

// Numbers that are no numbers go as text: the service says what is wrong with them.
function value(text, kind) {
  const bare = text.trim();
  if (bare === "") return null;
  if (kind === "truth") return bare === "true";
  if (kind === "number" && Number.isFinite(Number(bare))) return Number(bare);
  return text;
}

// Position of the stage that asks next; rows of a cascade that branches may leave stages out.
function nextStage() {
  return "next_stage" in current ? current.next_stage - 1 : current.stage;
}

// Which rows come to a stage after a branch.
function wayTo(stage) {
  for (const {after, ways} of cascade.branches ?? []) {
    const way = ways.find((one) => one.stage === stage);
    if (way) return `after stage ${after}, ${/^(else|any other|none of these)/.test(way.when) ? "" : "if "}${way.when}: `;
  }
  return "";
}

function drawStages() {
  const next = current ? nextStage() : -1;
  const isOpen = current && !current.decided;
  at("stages").replaceChildren(...cascade.stages.map((one, i) => {
    const isPast = current && (current.path ? current.path.includes(`stage ${one.stage}`) : i < current.stage);
    const item = make("li", undefined, isPast ? "past" : isOpen && i === next ? "now" : "");
    const least = [...new Set(one.thresholds.map(({confidence}) => confidence))];
    const sure = least.length === 1
      ? least[0] === 0 ? "answers all who reach it" : `answers from confidence ${number(least[0])}`
      : one.thresholds.map(({label, confidence}) => `${label} from ${number(confidence)}`).join(", ");
    const delay = one.delay_so_far ? `, after a wait of ${number(one.delay_so_far)}` : "";
    item.append(
      make("strong", `${one.stage}. ${one.needs.join(", ") || "nothing"}`),
      make("span", `${wayTo(one.stage)}costs ${price(one.cost)}, so far ${price(one.cost_so_far)}${delay}; ${sure}`, "note"),
    );
    if (isOpen && i === next) item.setAttribute("aria-current", "step");
    return item;
  }));
}

function drawOpening() {
  const fields = [];
  const budget = make("input");
  budget.inputMode = "decimal";
  fields.push(field("budget", "if the row may not cost more", budget));
  for (const name of cascade.prices_by_row) {
    const price = make("input");
    price.inputMode = "decimal";
    price.dataset.price = "yes";
    fields.push(field(name, "what this row pays; empty if not known yet", price));
  }
  at("open-fields").replaceChildren(...fields);
}

function drawNeeds() {
  const names = current.needs;
  at("give-form").hidden = !names.length;
  if (!names.length) return;
  const empty = cascade.missing_values === "refuse" ? "" : " Leave empty what cannot be had.";
  at("asks").textContent = `Stage ${nextStage() + 1} asks for ${names.join(", ")}, for ${price(current.next_cost)}.${empty}`;
  const fields = names.map((name) => {
    const {kind, range} = cascade.columns[name];
    const seen = range ? `number, in training ${number(range[0])} to ${number(range[1])}` : "number";
    return field(name, kind === "number" ? seen : "", control(cascade.columns[name]));
  });
  const stage = cascade.stages[nextStage()];
  for (const name of cascade.prices_by_row.filter((one) => stage.buys.includes(one))) {
    const price = make("input");
    price.inputMode = "decimal";
    price.dataset.price = "yes";
    fields.push(field(name, "what was paid; empty if told before", price));
  }
  at("give-fields").replaceChildren(...fields);
  at("give-fields").querySelector("input, select").focus();
}

function drawDecision() {
  const {decided, accepted, label, confidence, stage, cost, reason, delay, warnings, path} = current;
  at("again").hidden = !decided;
  const lines = [];
  if (decided) lines.push(["Why", reason]);
  if (confidence !== null) lines.push(["Confidence", `${(100 * confidence).toFixed(1)} %`]);
  if (path?.length) lines.push(["Path", path.join(" → ")], ["Cost", price(cost)]);
  else if (stage || decided) lines.push(["Stages", `${stage} of ${cascade.stages.length}`], ["Cost", price(cost)]);
  if (delay) lines.push(["Waited", number(delay)]);
  const list = make("dl");
  for (const [name, words] of lines) list.append(make("dt", name), make("dd", words));
  const parts = [];
  if (decided) parts.push(make("p", accepted ? String(label) : "Rejected", accepted ? "verdict" : "verdict rejected"));
  else if (stage) parts.push(make("p", "Not sure yet.", "note"));
  if (lines.length) parts.push(list);
  if (warnings.length) parts.push(make("p", `Unlike the training rows: ${warnings.join(" ")}`, "warning"));
  at("decision").replaceChildren(...parts);
}

function show(found) {
  if (!found) return;
  current = found;
  at("start").hidden = true;
  at("playing").hidden = false;
  at("id").textContent = `Id: ${found.id}`;
  drawStages();
  drawNeeds();
  drawDecision();
}

const pathOf = (rest) => `cases/${encodeURIComponent(current.id)}${rest}`;
// Fields are looked up in their box: in a form, one named "elements" would hide the form's own.
const pricesOf = (box) => [...box.querySelectorAll("[data-price]")].filter((one) => one.value.trim() !== "");

at("open-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = {};
  const box = at("open-fields");
  const budget = box.querySelector("input").value;
  if (budget.trim()) body.budget = value(budget, "number");
  for (const one of pricesOf(box)) (body.prices ??= Object.create(null))[one.name] = value(one.value, "number");
  show(await ask("POST", "cases", body));
});

at("give-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const box = at("give-fields");
  const spent = Object.create(null); // so that "__proto__" is a name like others
  for (const one of pricesOf(box)) spent[one.name] = value(one.value, "number");
  const values = Object.create(null);
  for (const one of box.querySelectorAll("input:not([data-price]), select"))
    values[one.name] = value(one.value, cascade.columns[one.name].kind);
  show(await ask("POST", pathOf("/values"), Object.keys(spent).length ? {values, spent} : {values}));
});

at("reject").addEventListener("click", async () => {
  show(await ask("POST", pathOf("/reject"), {reason: "ended by hand"}));
});

at("find-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const id = at("find").value.trim();
  if (id) show(await ask("GET", `cases/${encodeURIComponent(id)}`));
});

at("again").addEventListener("click", () => {
  current = null;
  at("start").hidden = false;
  at("playing").hidden = true;
  drawStages();
  at("open").focus();
});

at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  start();
});

async function start() {
  cascade = await ask("GET", "cascade", undefined, false);
  if (!cascade) return;
  at("main").hidden = false;
  drawServed();
  drawStages();
  drawOpening();
}

start();
