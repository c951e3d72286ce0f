import { html } from "htm/preact";
import { coloured } from "./format.js";
import { Button } from "./icons.js";
import { usePanel, useReply } from "./state.js";

/** @import * as P from "./protocol.js" */

const LABELS = { magic: "Magic", python: "Python", curl: "curl" };
const TOKENS = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*')|(^%\w+|\bimport\b|\bfrom\b|\bas\b|^curl\b)|(\b[A-Za-z_]\w*)(?==)|(\b[A-Za-z_]\w*)(?=\()|(#.*$)/gm;
const CLASSES = ["t-str", "t-lit", "t-num", "t-fn", "t-dim"];

/** The run of a result as a magic, in Python and for a shell. @param {{ result: P.ResultView }} props */
export function Code({ result }) {
  const { copy } = usePanel();
  const [reply, trouble] = useReply("code", {}, [result.number, result.variable]);
  return html`<div class="jf-sub"><span class="jf-quiet">The same run as code.</span></div>
    <div class="jf-scroll jf-codes" data-jf="code">
      ${trouble && html`<p class="jf-quiet" role="alert">${trouble}</p>`}
      ${reply?.blocks.map(({ name, code, note }) => html`<section class="jf-code" aria-label=${LABELS[name]} key=${name} data-jf=${`code:${name}`}>
        <header><b>${LABELS[name]}</b><span class="jf-quiet jf-cut">${note}</span><span class="jf-gap" /><${Button} icon="copy" label="Copy" aria=${`Copy ${LABELS[name]}`} data-jf=${`copy:${name}`} onClick=${() => void copy(code)} /></header>
        <pre tabindex="0">${coloured(code, TOKENS, CLASSES)}</pre>
      </section>`)}
    </div>`;
}
