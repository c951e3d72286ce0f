/** Below this lightness, of 0 to 255, a background is dark. */
const DARK = 110;

/** Whether a colour is dark, however it is written; `undefined` for none. */
function isDark(colour: string) {
  const canvas = document.createElement("canvas").getContext?.("2d", { willReadFrequently: true });
  if (!canvas) return undefined;
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, opacity] = canvas.getImageData(0, 0, 1, 1).data;
  return opacity > 127 ? 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK : undefined;
}

/** Whether what is behind an element is dark: the first background around it, also of a shadow root. */
function isOnDark(element: Element) {
  for (let around: Element | null = element; around; ) {
    const dark = isDark(getComputedStyle(around).backgroundColor);
    if (dark !== undefined) return dark;
    around = around.parentElement ?? (around.getRootNode() as ShadowRoot).host ?? null;
  }
  return false;
}

/** Follow the page's theme: by its own variable, or where it has none by the background. */
export function followTheme(root: HTMLElement, signal: AbortSignal) {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.backgroundColor = "var(--jp-layout-color0)";
  root.append(probe);
  const look = () => root.toggleAttribute("data-dark", isOnDark(probe));
  const observer = new MutationObserver(look);
  observer.observe(document.documentElement, { attributes: true });
  observer.observe(document.body, { attributes: true });
  observer.observe(document.head, { childList: true, subtree: true });
  document.head.addEventListener("load", look, { capture: true, signal });
  signal.addEventListener("abort", () => observer.disconnect());
  look();
}
