// Runs before the first paint, so that a dark page never flashes white and no answer shows that the reader wants to guess: the reader's
// choices, else the system's theme and everything open. And no text shows before its letters are here (frame.js): in others it would
// have other lines, and all that stands below would move.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    } // storage may be forbidden
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen("bim-theme") ?? (system.matches ? "dark" : "light");
  };
  document.documentElement.dataset.reading = chosen("bim-reading") === "guess" ? "guess" : "read";
  apply();
  document.documentElement.dataset.letters = "coming";
  system.addEventListener("change", apply);
})();
