const BOX = ":is(input, textarea, [tabindex='0']):not(:disabled)";
const BUTTON = "button:not(:disabled)";

/** Where what has the focus goes away or moves, give it to what is left beside it. */
export function keepFocus(root: HTMLElement, signal: AbortSignal) {
  /** What has the focus, and what it is in. */
  let path: HTMLElement[] = [];

  const stopIn = (element: HTMLElement) => {
    if (!element.isConnected || !root.contains(element)) return null;
    return element.querySelector<HTMLElement>(BOX) ?? element.querySelector<HTMLElement>(BUTTON);
  };
  const restore = () => {
    const { activeElement } = root.getRootNode() as Document | ShadowRoot;
    const isFree = !activeElement || activeElement === document.body;
    if (!path.length || !isFree) return;
    const next = path[0].isConnected ? path[0] : path.map(stopIn).find(Boolean);
    path = [];
    next?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(restore);
  observer.observe(root, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());

  const enter = (event: Event) => {
    path = event.composedPath() as HTMLElement[];
  };
  // A person who leaves by mouse or Tab is let go.
  const leave = (event: Event) => {
    if (!("key" in event) || event.key === "Tab") path = [];
  };
  root.addEventListener("focusin", enter, { signal });
  window.addEventListener("pointerdown", leave, { capture: true, signal });
  window.addEventListener("keydown", leave, { capture: true, signal });
}
