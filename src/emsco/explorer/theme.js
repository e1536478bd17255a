// Before anything is painted: as the reader's system wishes, until the button says otherwise.

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches
  ? "dark"
  : "light";
