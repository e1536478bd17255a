// Show the OpenAPI document of this service. Everything shown is set as text, never as markup.
"use strict";

const make = (kind, words, mark) => {
  const node = document.createElement(kind);
  if (words !== undefined) node.textContent = words.replaceAll("`", "");
  if (mark) node.className = mark;
  return node;
};

const METHODS = ["get", "post", "delete"];

function schemaOf(document, content) {
  const schema = content?.["application/json"]?.schema;
  const name = schema?.$ref?.split("/").pop();
  return name ? document.components.schemas[name] : schema;
}

function typeOf(document, schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(document, one)).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(document, schema.items)}`;
  return [schema.type ?? "any value"].flat().join(" or ");
}

function fields(document, schema, title) {
  const found = Object.entries(schema?.properties ?? {});
  if (!found.length) return [];
  const list = make("ul");
  for (const [name, one] of found) {
    const item = make("li");
    const must = schema.required?.includes(name) ? "" : ", if wanted";
    item.append(make("code", name), ` (${typeOf(document, one)}${title === "Body" ? must : ""})`);
    if (one.description) item.append(`: ${one.description.replaceAll("`", "")}`);
    list.append(item);
  }
  return [make("h3", title), list];
}

function operation(document, path, method, one) {
  const card = make("section", undefined, "card operation");
  const heading = make("h2");
  const code = make("code");
  code.append(make("span", method.toUpperCase(), "method"), ` ${path}`);
  heading.append(code);
  card.append(heading, make("p", [one.summary, one.description].filter(Boolean).join(". ").replace(/\.?$/, ".")));
  const responses = Object.entries(one.responses);
  const answer = responses.find(([status]) => status < 300);
  card.append(
    ...fields(document, schemaOf(document, one.requestBody?.content), "Body"),
    ...fields(document, schemaOf(document, answer?.[1].content), `Answer ${answer?.[0]}`),
  );
  const list = make("ul");
  for (const [status, {description}] of responses.filter(([status]) => status >= 400))
    list.append(make("li", `${status}: ${description}`));
  if (list.children.length) card.append(make("h3", "Refusals"), list);
  return card;
}

async function start() {
  try {
    const document_ = await (await fetch("openapi.json")).json();
    const cards = [];
    for (const [path, methods] of Object.entries(document_.paths))
      for (const method of METHODS.filter((one) => one in methods))
        cards.push(operation(document_, path, method, methods[method]));
    document.getElementById("operations").replaceChildren(...cards);
  } catch {
    const trouble = document.getElementById("trouble");
    trouble.textContent = "The service does not answer. Is it still running?";
    trouble.hidden = false;
  }
}

start();
