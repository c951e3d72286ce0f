const STOP = ":is(input, textarea, button, [tabindex='0']):not(:disabled, [tabindex='-1'])";

/** Where what has the focus goes away or moves, give it to what is left beside it. */
export function keepFocus(root: HTMLElement, signal: AbortSignal) {
  /** What has the focus, and what it is in. */
  let path: HTMLElement[] = [];
  /** What could have it then, in order. */
  let stops: HTMLElement[] = [];

  const isThere = (element: HTMLElement) => element.isConnected && root.contains(element);
  /** An element, or the same one of a part that was drawn again. */
  const again = (element: HTMLElement) => {
    const { jf } = element.dataset;
    const drawn = jf ? root.querySelector<HTMLElement>(`[data-jf="${CSS.escape(jf)}"]`) : null;
    const now = isThere(element) ? element : drawn;
    return now?.matches(":disabled") ? null : now;
  };
  /** In the innermost part that is left: what stands for it now, or the next one, or the one before. */
  const beside = () => {
    const at = stops.indexOf(path[0]);
    const around = [...stops.slice(at + 1), ...stops.slice(0, Math.max(at, 0)).reverse()];
    const near = around.map(again);
    for (const part of path.filter(isThere)) {
      const inside = [...part.querySelectorAll<HTMLElement>(STOP)];
      const next =
        inside.find((stop) => !near.includes(stop)) ?? near.find((stop) => part.contains(stop));
      if (next) return next;
    }
    return null;
  };
  const restore = () => {
    const { activeElement } = root.getRootNode() as Document | ShadowRoot;
    const isFree = !activeElement || activeElement === document.body;
    if (!path.length || !isFree) return;
    const next = again(path[0]) ?? beside();
    path = [];
    next?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(restore);
  observer.observe(root, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());

  const enter = (event: Event) => {
    path = event.composedPath() as HTMLElement[];
    stops = [...root.querySelectorAll<HTMLElement>(STOP)];
  };
  // A person who leaves by mouse or Tab is let go.
  const leave = (event: Event) => {
    if (!("key" in event) || event.key === "Tab") path = [];
  };
  root.addEventListener("focusin", enter, { signal });
  window.addEventListener("pointerdown", leave, { capture: true, signal });
  window.addEventListener("keydown", leave, { capture: true, signal });
}
