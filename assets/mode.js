// Runs before the first paint, so that a dark page never flashes white: the reader's choice, else the system's. And no text shows
// before its letters are here (frame.js): in others it would have other lines, and all that stands below would move.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("bim-theme");
    } catch {
      return null;
    } // storage may be forbidden
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
  };
  apply();
  document.documentElement.dataset.letters = "coming";
  system.addEventListener("change", apply);
})();
