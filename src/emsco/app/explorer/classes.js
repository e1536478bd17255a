// How the rows of each class were labelled by a design, and by a model that sees everything.

const CLASSES = DATA.classes;
const FEW_LABELS = CLASSES?.has_counts ? CLASSES.labels : []; // with a limit and a price for each


/** The rows of a class that were labelled correctly, labelled wrongly and rejected. */
function outcomesOf(rows, correct, labelled, said) {
  const rest = (more, less) => (more - less > ROUNDING * rows ? more - less : 0);
  return { rows, correct, wrong: rest(labelled, correct), rejected: rest(rows, labelled), said };
}

/** Counts of each class, and how often its label was given. */
function countsOf(counts, rows) {
  const n = rows.length;
  if (!CLASSES.has_counts)
    return rows.map((all, k) => outcomesOf(all, counts[k], counts[n + k], counts[2 * n + k]));
  return rows.map((all, k) => {
    const as = counts.slice(k * n, (k + 1) * n);
    const said = sumOf(rows.map((_, other) => counts[other * n + k]));
    return { ...outcomesOf(all, as[k], sumOf(as), said), as };
  });
}

/** A share of rows; blank if there are none. */
const shareOf = (part, whole) => (whole ? percent(Math.min(1, part / whole)) : "–");

/** The outcomes of the class at a place as whole numbers of rows that add up, for readers. */
function inWholeRows(one, place) {
  const as = addUp(one.as ? [...one.as, one.rejected] : [one.correct, one.wrong, one.rejected]);
  const rejected = as.pop();
  const correct = one.as ? as[place] : as[0];
  return { rows: sumOf(as) + rejected, correct, wrong: sumOf(as) - correct, rejected, as };
}

/** A count of rows with its share of the class. */
const countAndShare = (count, part, whole) => (part ? `${amount(count)} (${shareOf(part, whole)})` : "none");

/** A bar of a class: the shares that are correct, wrong and rejected, in the colours of the bands. */
function classBar(one) {
  const bar = shape("svg", { class: "class-bar", viewBox: "0 0 100 10", preserveAspectRatio: "none" });
  let from = 0;
  for (const kind of ["correct", "wrong", "rejected"]) {
    const width = one.rows ? (100 * one[kind]) / one.rows : 0;
    if (width) bar.append(shape("rect", { x: from, width, height: 10, class: `band ${kind}` }));
    from += width;
  }
  return bar;
}

/** The results by class of buying everything, at the confidence that labels need if one was given. */
function everythingOf(which) {
  const known = DATA.references[which];
  const found = known.find(({ kind }) => kind === "everything") ?? known.find(({ kind }) => kind === "answered");
  return found && countsOf(found.counts, found.rows);
}

function classLine(label, place, heads, one, everything) {
  const inRows = inWholeRows(one, place);
  const all = everything && inWholeRows(everything, place);
  const beside = (text) =>
    everything
      ? [text(one, inRows), element("span", { className: "interval" }, ` everything: ${text(everything, all)}`)]
      : [text(one, inRows)];
  const shares = [
    [amount(inRows.rows)],
    beside(({ correct, rows }) => shareOf(correct, rows)),
    beside(({ wrong, rows }, whole) => countAndShare(whole.wrong, wrong, rows)),
    beside(({ rejected, rows }, whole) => countAndShare(whole.rejected, rejected, rows)),
    beside(({ correct, said }) => shareOf(correct, said)),
  ];
  const counts = CLASSES.has_counts ? inRows.as.map((count) => [amount(count)]) : [];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, label),
    element("td", { "aria-hidden": "true" }, classBar(one)),
    // A phone has no room for a line of headings: each cell carries its own.
    ...[...shares, ...counts].map((parts, i) => {
      const inside = parts.length > 1 ? [element("span", {}, ...parts)] : parts;
      return element("td", { "data-head": heads[i] }, ...inside);
    }),
  );
}

/** Draw the table of a design, or say why there is none. */
function drawClasses(design, which) {
  const found = CLASSES?.[which];
  byId("by-class").hidden = !found;
  if (!found) return;
  byId("classes-heading").textContent =
    `By class, on ${which === "seen" ? "test rows" : "scored rows"}`;
  const counts = found.counts[design];
  const everything = everythingOf(which);
  const { labels, more } = CLASSES;
  const said = CLASSES.has_counts ? labels.map((label) => `as ${label}`) : [];
  const heads = ["rows", "found", "wrong", "rejected", "precision", ...said];
  const head = (text) => element("th", { scope: "col" }, text);
  byId("classes-scroll").hidden = !counts;
  byId("classes").replaceChildren(
    element("thead", {}, element("tr", {}, head("class"), element("td", { "aria-hidden": "true" }), ...heads.map(head))),
    element(
      "tbody",
      {},
      ...(counts ? countsOf(counts, found.rows) : []).map((one, k) =>
        classLine(labels[k], k, heads, one, everything?.[k]),
      ),
    ),
  );
  byId("classes-words").textContent = !counts
    ? "To keep the file small, this page has the classes of shortlisted designs only."
    : "Found: the share of the class that got its label. Wrong: got the label of another class. " +
      "Precision: the share of rows with that label that belong to the class." +
      (everything ? " Everything: the same if you buy all features at once." : "") +
      (more ? ` ${number(more)} more classes are left out.` : "");
}
