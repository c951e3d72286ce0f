/** A page by happy-dom, with the sources in it. */
import { afterEach } from "node:test";
import { Window } from "happy-dom";
import { settled } from "./clock.js";
import { FakeModel } from "./fake.js";
import { imported } from "./sources.js";

const window = new Window({
  width: 1280,
  height: 900,
  url: "http://127.0.0.1:8866/voila/render/a.ipynb?token=x&theme=dark&funcs=Get+Panel+Daily&Symbol=NVRA",
});
const NAMES = `
  document Element HTMLElement Node Event KeyboardEvent MouseEvent PointerEvent MutationObserver
  getComputedStyle CSS addEventListener
  removeEventListener innerWidth innerHeight navigator location
`
  .trim()
  .split(/\s+/);
for (const name of ["window", ...NAMES]) {
  const value = name === "window" ? window : window[name];
  Object.defineProperty(globalThis, name, {
    value: typeof value === "function" && !value.prototype ? value.bind(window) : value,
    configurable: true,
    writable: true,
  });
}

/** happy-dom draws nothing: a canvas of one pixel, which reads "rgb(17, 17, 17)". */
window.HTMLCanvasElement.prototype.getContext = () => ({
  fillRect() {},
  getImageData() {
    const parts = this.fillStyle.match(/\d+/g)?.map(Number);
    return { data: parts ? [...parts, 255] : [0, 0, 0, 0] };
  },
});

const { default: panel } = await imported("index.tsx");

/** What a test that failed has left open, and the next one would find. */
const opened = new Set();
afterEach(() => Promise.all([...opened].map((close) => close())));

/** Draw a panel, of its own model if there is none; `$` finds by `data-jf`. */
export async function shown(traits, answers, model = new FakeModel(traits, answers)) {
  const el = document.createElement("div");
  document.body.append(el);
  const away = panel.render({ model, el });
  await settled();
  const $ = (hook) => el.querySelector(`[data-jf="${hook}"]`);
  const close = async () => {
    opened.delete(close);
    away();
    el.remove();
    await settled();
  };
  opened.add(close);
  return { model, el, $, close, root: $("panel") };
}

/** Press a key where the focus would be. */
export const press = (target, key, more = {}) =>
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more }),
  );

/** Type into a box. */
export function type(input, text) {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
