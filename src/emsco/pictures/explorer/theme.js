// Before anything is painted: colours as the reader's system wishes, until the button says otherwise.

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches
  ? "dark"
  : "light";

// A browser that cannot run the scripts below says so, rather than show a page of empty boxes;
// in words that old ones understand.
addEventListener("error", function () {
  var failed = document.getElementById("failed");
  if (failed && !document.getElementById("deploy").textContent) failed.hidden = false;
});
