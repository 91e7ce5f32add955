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
  const told = document.documentElement.dataset;
  const apply = () => {
    told.theme = told.chosen === "system" ? (system.matches ? "dark" : "light") : told.chosen;
  };
  told.reading = chosen("bim-reading") === "guess" ? "guess" : "read";
  told.chosen = ["light", "dark"].includes(chosen("bim-theme")) ? chosen("bim-theme") : "system";
  apply();
  told.letters = "coming";
  system.addEventListener("change", apply);
  document.addEventListener("bim-theme", apply); // of the button, which changes what is chosen
})();
