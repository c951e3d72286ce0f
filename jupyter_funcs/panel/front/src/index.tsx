import { render as draw } from "preact";
import type { Model } from "./core/channel";
import { Channel } from "./core/channel";
import { Panel } from "./panel";
import sheet from "./panel.css";

const SUPPRESS = "data-lm-suppress-shortcuts";

/**
 * Keep keys typed in the panel from being commands of the notebook, which listens to buttons and boxes too: it looks at
 * this attribute of the target and of what it is in, before any listener inside the panel.
 */
function trapKeys(root: HTMLElement, signal: AbortSignal) {
  const trap = (event: KeyboardEvent) => {
    const target = event.composedPath()[0];
    if (!(target instanceof Element) || !root.contains(target)) return;
    if ((event.ctrlKey || event.metaKey) && !/^(enter|a)$/i.test(event.key))
      root.querySelectorAll(`[${SUPPRESS}]`).forEach((each) => each.removeAttribute(SUPPRESS));
    else target.setAttribute(SUPPRESS, "true");
  };
  window.addEventListener("keydown", trap, { capture: true, signal });
}

/** Where what has the focus goes away or moves, give it to what is left beside it. */
function keepFocus(root: HTMLElement, signal: AbortSignal) {
  /** What has the focus, and what it is in. */
  let path: HTMLElement[] = [];
  const stop = (each: HTMLElement) => {
    if (!each.isConnected || !root.contains(each)) return null;
    const box = each.querySelector<HTMLElement>(
      ":is(input, textarea, [tabindex='0']):not(:disabled)",
    );
    return box ?? each.querySelector<HTMLElement>("button:not(:disabled)");
  };
  const observer = new MutationObserver(() => {
    const { activeElement } = root.getRootNode() as Document | ShadowRoot;
    if (!path.length || (activeElement && activeElement !== document.body)) return;
    const next = path[0].isConnected ? path[0] : path.map(stop).find(Boolean);
    path = [];
    next?.focus({ preventScroll: true });
  });
  observer.observe(root, { childList: true, subtree: true });
  root.addEventListener("focusin", (event) => void (path = event.composedPath() as HTMLElement[]), {
    signal,
  });
  // A person who leaves by mouse or Tab is let go.
  const leave = (event: Event) => void (("key" in event && event.key !== "Tab") || (path = []));
  for (const kind of ["pointerdown", "keydown"])
    window.addEventListener(kind, leave, { capture: true, signal });
  signal.addEventListener("abort", () => observer.disconnect());
}

/** "rgb(17, 17, 17)", also with an opacity */
const isDark = (colour: string) => {
  const [red = 255, green = 255, blue = 255, opacity = 1] = (colour.match(/[\d.]+/g) ?? []).map(
    Number,
  );
  return opacity > 0 && 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
};

/** Follow the page's theme: by the lightness of its own variable, or of the page where it has none. */
function followTheme(root: HTMLElement, signal: AbortSignal) {
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
  for (const each of [document.documentElement, document.body])
    observer.observe(each, { attributes: true });
  observer.observe(document.head, { childList: true, subtree: true });
  document.head.addEventListener("load", look, { capture: true, signal });
  signal.addEventListener("abort", () => observer.disconnect());
  look();
}

function render({ model, el, signal }: { model: Model; el: HTMLElement; signal?: AbortSignal }) {
  const own = new AbortController();
  signal?.addEventListener("abort", () => own.abort());
  const channel = new Channel(model);
  const root = document.createElement("div");
  root.className = "jf";
  // Beside the panel, so that it is drawn in its style at once, also in a shadow root.
  root.append(Object.assign(document.createElement("style"), { textContent: sheet }));
  el.append(root);
  const mount = root.appendChild(document.createElement("div"));
  followTheme(root, own.signal);
  trapKeys(root, own.signal);
  keepFocus(root, own.signal);
  draw(<Panel channel={channel} root={root} />, mount);
  void channel.hello();
  own.signal.addEventListener("abort", () => {
    draw(null, mount);
    root.remove();
    channel.close();
  });
  return () => own.abort();
}

export default { render };
