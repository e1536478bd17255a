// Runs before the first paint: the page takes the light or dark colours of the reader's system.

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches
  ? "dark"
  : "light";

// In a browser that cannot run the scripts below, show a message instead of empty boxes. Old browsers
// must understand this script, so it uses old JavaScript.
addEventListener("error", function () {
  var failed = document.getElementById("failed");
  if (failed && !document.getElementById("deploy").textContent) failed.hidden = false;
});
