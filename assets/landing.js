// Who comes by a link stands at what it names until he goes on by himself, whatever above it still changes its height.
(() => {
  const root = document.documentElement;
  const STILL = 120; // ms without scrolling: an arrival is over
  const GOES_ON = ["wheel", "touchmove", "pointerdown", "keydown"];
  let place = null; // what the reader was taken to
  let lay = 0; // where it lay in the page then
  let left = 0; // how far the page was scrolled then
  let gliding = false; // a smooth scroll is under way: it is put right at its end
  let timer = 0;
  let returns = false; // back and forward: the browser knows where the reader was

  // A widget's link names the n-th mount of its kind, alive or not yet; any other link an element.
  function named(hash) {
    const [, kind, n] = /^#(\w+)-(\d+)--/.exec(hash) ?? [];
    if (kind) return document.querySelectorAll(`.bim-mount[data-kind="${kind}"]`)[n] ?? null;
    return document.getElementById(hash.slice(1));
  }

  const lies = () => place.getBoundingClientRect().top + scrollY;

  function stand() {
    place.scrollIntoView({ block: "start", behavior: "instant" });
    [lay, left] = [lies(), scrollY];
  }

  // Moved by what grew above, or stopped short while there was no page below to scroll to, it is put right; scrolled without that, as by
  // the bar of the window, the reader has gone on. Of what grew the browser may have made good all, nothing, or a part: each of several
  // layouts between two frames by itself.
  function settle() {
    if (!place || gliding) return;
    const [grown, gone] = [lies() - lay, scrollY - left];
    const cut = gone < 0 && scrollY + innerHeight > root.scrollHeight - 2; // by a page that became shorter
    const beyond = gone < Math.min(0, grown) - 1 || gone > Math.max(0, grown) + 1;
    if (beyond && !cut) place = null;
    else stand();
  }

  function glided() {
    if (gliding && place) stand();
    gliding = false;
    settle();
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(glided, STILL);
  }

  // Who follows a link to something has asked to see it.
  function unfold(node) {
    for (let folded = node.closest("details"); folded; folded = folded.parentElement.closest("details"))
      folded.open = true;
  }

  function arrive(smooth) {
    place = named(location.hash);
    gliding = false;
    if (!place) return;
    unfold(place);
    if (!smooth) {
      stand();
      return;
    }
    gliding = true;
    place.scrollIntoView({ block: "start" });
    wait();
  }

  const glides = () => getComputedStyle(root).scrollBehavior === "smooth";
  for (const deed of GOES_ON)
    window.addEventListener(
      deed,
      () => {
        place = null;
      },
      { capture: true, passive: true },
    );
  window.navigation?.addEventListener("navigate", ({ navigationType }) => {
    returns = navigationType === "traverse";
  });
  window.addEventListener("hashchange", () => {
    if (returns) place = null;
    else arrive(glides());
  });
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href]");
    if (link?.hash && link.href === location.href) arrive(glides()); // the same link again is no change of the hash
  });
  window.addEventListener("scroll", wait, { passive: true });
  new ResizeObserver(settle).observe(document.querySelector("main"));
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") arrive(false);
})();
