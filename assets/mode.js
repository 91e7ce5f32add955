// Runs before the first paint, so that a dark page never flashes white: the reader's choice, else the system's.
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
  system.addEventListener("change", apply);
})();
