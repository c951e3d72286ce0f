import { html } from "htm/preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { count } from "./format.js";
import { Button, Icon } from "./icons.js";
import { usePanel } from "./state.js";

/** @import * as P from "./protocol.js" */
/** @typedef {(string | number)[]} Path */
/** @typedef {P.JsonNode["children"][number]} Item */

const PAGE = 50;
const PARTS = /("(?:[^"\\]|\\.)*"?)|(-?\d[\d.eE+-]*)|(true|false|null|NaN|-?Infinity)/g;

/** JSON on a line, in its colours. @param {{ text: string }} props */
function Line({ text }) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    parts.push(text.slice(end, match.index), html`<span class=${match[1] ? "t-str" : match[2] ? "t-num" : "t-lit"}>${match[0]}</span>`);
    end = match.index + match[0].length;
  }
  return html`<span class="t-dim">${parts}${text.slice(end)}</span>`;
}

/** @param {{ name: string | number }} props */
const Key = ({ name }) => html`<span class="t-key">${typeof name === "number" ? name : JSON.stringify(name)}<span class="t-dim">: </span></span>`;

/** The items of an array or object, a page at a time. @param {{ run: number, path: Path, node?: P.JsonNode, label: string }} props */
function Items({ run, path, node, label }) {
  const { ask, tell, live } = usePanel();
  const [items, setItems] = useState(/** @type {Item[]} */ (node?.children ?? []));
  const [total, setTotal] = useState(node?.total ?? -1);
  const [waits, setWaits] = useState(false);
  const more = () => {
    setWaits(true);
    const page = ask("json", { run, path, from: items.length }).then((reply) => (setItems([...items, ...reply.children]), setTotal(reply.total)));
    void tell(page.finally(() => setWaits(false)));
  };
  useLayoutEffect(() => {
    if (!node) more();
  }, []);
  const left = total - items.length;
  return html`<div role="group" aria-label=${label} aria-busy=${waits ? "true" : undefined}>${items.map((item) => html`<${Item} key=${item.key} item=${item} run=${run} path=${[...path, item.key]} />`)}
    ${left > 0 && html`<button type="button" class="jf-inline" data-jf="json-more" disabled=${live === "gone" || waits} onClick=${more}>Show ${Math.min(PAGE, left)} more of ${count(total)}</button>`}</div>`;
}

/** @param {{ item: Item, run: number, path: Path }} props */
function Item({ item, run, path }) {
  // The rows are nearly always on the second level: open the long arrays there, and the short objects.
  const [open, setOpen] = useState(path.length === 1 && (item.type === "object" ? item.total <= 10 : item.total > 10));
  const { key, type, text, total, whole } = item;
  if (whole) return html`<div class="jf-node jf-leaf"><span><${Key} name=${key} /><${Line} text=${text} /></span></div>`;
  const size = type === "array" ? `[${count(total)}]` : `{${count(total)}}`;
  return html`<div><div class="jf-node"><button type="button" data-jf=${`node:${key}`} aria-expanded=${String(open)} onClick=${() => setOpen(!open)}><${Icon} name="right" size=${14} />
      <span><${Key} name=${key} /><span class="t-dim">${size}</span>${!open && html`<span class="jf-hint">${text}</span>`}</span></button></div>
    ${open && html`<${Items} run=${run} path=${path} label=${String(key)} />`}</div>`;
}

/** The reply as it came. @param {{ result: P.ResultView }} props */
export function JsonTree({ result }) {
  const { ask, tell, copy, live } = usePanel();
  const run = result.number;
  const [root, setRoot] = useState(/** @type {P.JsonNode | null} */ (null));
  const [wrong, setWrong] = useState("");
  useLayoutEffect(() => {
    ask("json", { run, path: [], from: 0 }).then(setRoot, (/** @type {Error} */ error) => setWrong(error.message));
  }, [run]);
  if (wrong) return html`<div class="jf-blank" data-jf="json-empty"><b>Nothing to show</b><span>${wrong}</span></div>`;
  const many = root && (root.type === "array" ? `${count(root.total)} items` : root.type === "object" ? `${count(root.total)} keys` : "");
  return html`<div class="jf-sub"><span class="jf-quiet">The reply as it came${many && ` · ${many}`}</span><span class="jf-gap" />
      <${Button} icon="copy" label="Copy" data-jf="copy-json" disabled=${live === "gone"} onClick=${() => void tell(ask("json_text", { run }).then((reply) => copy(reply.text)))} /></div>
    <div class="jf-scroll jf-tree" data-jf="json" tabindex="0" role="region" aria-label="Reply" aria-busy=${root ? undefined : "true"}>
      ${root && (root.children.length ? html`<${Items} run=${run} path=${[]} node=${root} label="Reply" />` : html`<div class="jf-node jf-leaf"><${Line} text=${root.text} /></div>`)}</div>`;
}
