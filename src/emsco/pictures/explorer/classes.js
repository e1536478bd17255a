// How the rows of each class were labelled by a design.

const CLASSES = DATA.classes;

const sumOf = (counts) => counts.reduce((total, count) => total + count, 0);

/** Counts of each class: rows, labelled, correct, and how often its label was given. */
function countsOf(counts, rows) {
  const n = rows.length;
  if (!CLASSES.has_counts)
    return rows.map((all, k) => ({
      rows: all,
      correct: counts[k],
      labelled: counts[n + k],
      said: counts[2 * n + k],
    }));
  return rows.map((all, k) => {
    const as = counts.slice(k * n, (k + 1) * n);
    const labelled = sumOf(as);
    const rejected = all - labelled > ROUNDING * all ? all - labelled : 0;
    const said = sumOf(rows.map((_, other) => counts[other * n + k]));
    return { rows: all, correct: as[k], labelled, said, as, rejected };
  });
}

/** A share of rows; blank if there are none. */
const shareOf = (part, whole) => (whole ? percent(Math.min(1, part / whole)) : "–");

function classLine(label, one) {
  const shares = [
    number(one.rows),
    shareOf(one.labelled, one.rows),
    shareOf(one.correct, one.rows),
    shareOf(one.correct, one.said),
  ];
  const counts = CLASSES.has_counts ? [...one.as, one.rejected].map(number) : [];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, label),
    ...[...shares, ...counts].map((text) => element("td", {}, text)),
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
  const { labels, more } = CLASSES;
  const said = CLASSES.has_counts ? [...labels.map((label) => `as ${label}`), "rejected"] : [];
  const heads = ["class", "rows", "labelled", "found", "right when said", ...said];
  byId("classes-scroll").hidden = !counts;
  byId("classes").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element(
      "tbody",
      {},
      ...(counts ? countsOf(counts, found.rows) : []).map((one, k) => classLine(labels[k], one)),
    ),
  );
  byId("classes-words").textContent = !counts
    ? "To keep the file small, this page has the classes of shortlisted designs only."
    : "Found: the share of the class that got its label; rejected rows are not found. " +
      "Right when said: the share of rows with that label that belong to the class." +
      (more ? ` ${number(more)} more classes are left out.` : "");
}
