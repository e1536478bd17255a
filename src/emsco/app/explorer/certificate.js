// What a certificate promises about the design shown.

const CERTIFICATE = DATA.certificate;
const MOST_NAMED = 12; // designs that a sentence names
const CERTIFIED = new Set(CERTIFICATE?.designs ?? []);

/** Say whether the certificate is for a design, or for which others; nothing without a certificate. */
function drawCertificate(design) {
  byId("certificate").hidden = CERTIFICATE === null;
  if (CERTIFICATE === null) return;
  const { promises, delta, rows, date, designs } = CERTIFICATE;
  const tested = `tested on ${rowsOf(rows)}, ${date}`;
  const chance = `The chance that any design is certified although it breaks a promise is at most ${number(100 * delta)} %.`;
  const named = designs.slice(0, MOST_NAMED).map(String);
  if (designs.length > MOST_NAMED) named.push(`${number(designs.length - MOST_NAMED)} more`);
  const others = designs.length
    ? `The certificate is for ${designs.length === 1 ? "design" : "designs"} ${listed(named)}, not for this one.`
    : "No design is certified.";
  byId("certificate-words").textContent = CERTIFIED.has(design)
    ? `This design is certified to keep these promises on new rows (${tested}):`
    : `${others} The promises (${tested}):`;
  byId("promises").replaceChildren(...promises.map((promise) => element("li", {}, promise)));
  byId("certificate-chance").textContent = chance;
}
