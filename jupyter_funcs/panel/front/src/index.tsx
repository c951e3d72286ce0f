import { render as draw } from "preact";
import { Channel } from "./core/channel";
import type { Model } from "./core/model";
import { keepFocus } from "./page/focus";
import { trapKeys } from "./page/keys";
import { Panel } from "./page/panel";
import { followTheme } from "./page/theme";
import sheet from "./panel.css";

interface View {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
}

/** Draw a view of the panel, as anywidget asks for one; the answer takes it away. */
function render({ model, el, signal }: View) {
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
