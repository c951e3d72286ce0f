/** Whether a colour is dark: "rgb(17, 17, 17)", also with an opacity. */
function isDark(colour: string) {
  const parts = (colour.match(/[\d.]+/g) ?? []).map(Number);
  const [red = 255, green = 255, blue = 255, opacity = 1] = parts;
  return opacity > 0 && 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
}

/**
 * Follow the page's theme: by the lightness of its own variable, or of the page where it has none.
 */
export function followTheme(root: HTMLElement, signal: AbortSignal) {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.backgroundColor = "var(--jp-layout-color0)";
  root.append(probe);
  const look = () => {
    const own = getComputedStyle(root).getPropertyValue("--jp-layout-color0").trim();
    const shown = own ? probe : document.body;
    root.toggleAttribute("data-dark", isDark(getComputedStyle(shown).backgroundColor));
  };
  const observer = new MutationObserver(look);
  observer.observe(document.documentElement, { attributes: true });
  observer.observe(document.body, { attributes: true });
  observer.observe(document.head, { childList: true, subtree: true });
  document.head.addEventListener("load", look, { capture: true, signal });
  signal.addEventListener("abort", () => observer.disconnect());
  look();
}
