import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "./icons.js";
import { usePanel } from "./state.js";

/** @import * as P from "./protocol.js" */

const LABELS = { magic: "Magic", python: "Python", curl: "curl" };
const TOKENS = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*')|(^%\w+|\bimport\b|\bfrom\b|\bas\b|^curl\b)|(\b[A-Za-z_]\w*)(?==)|(\b[A-Za-z_]\w*)(?=\()|(#.*$)/gm;
const CLASSES = ["t-str", "t-lit", "t-num", "t-fn", "t-dim"];

/** Colour what is plain to see; the rest stays as it is. @param {string} code */
function painted(code) {
  const parts = [];
  let at = 0;
  for (const found of code.matchAll(TOKENS)) {
    const kind = CLASSES[found.slice(1).findIndex((each) => each !== undefined)];
    parts.push(code.slice(at, found.index), html`<span class=${kind}>${found[0]}</span>`);
    at = found.index + found[0].length;
  }
  return [...parts, code.slice(at)];
}

/** The run of a result as a magic, in Python and for a shell. @param {{ result: P.ResultView }} props */
export function Code({ result }) {
  const { ask, copy, live } = usePanel();
  const [blocks, setBlocks] = useState(/** @type {P.Requests["code"]["out"]["blocks"] | null} */ (null));
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    let current = true;
    if (live !== "gone") ask("code", {}).then((reply) => current && (setBlocks(reply.blocks), setTrouble("")), (error) => current && setTrouble(error.message));
    return () => {
      current = false;
    };
  }, [result.number, result.variable]);
  return html`<div class="jf-sub"><span class="jf-quiet">The same run in other words.</span></div>
    <div class="jf-scroll jf-codes" data-jf="code">
      ${trouble && html`<p class="jf-quiet" role="alert">${trouble}</p>`}
      ${blocks?.map(({ name, code, note }) => html`<section class="jf-code" aria-label=${LABELS[name]} key=${name} data-jf=${`code:${name}`}>
        <header><b>${LABELS[name]}</b><span class="jf-quiet jf-cut">${note}</span><span class="jf-gap" /><${Button} icon="copy" label="Copy" aria=${`Copy ${LABELS[name]}`} data-jf=${`copy:${name}`} onClick=${() => void copy(code)} /></header>
        <pre tabindex="0">${painted(code)}</pre>
      </section>`)}
    </div>`;
}
