import { coloured } from "../core/format";
import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";

const LABELS = { magic: "Magic", python: "Python", curl: "curl" };
/** Texts, words of a language, names of arguments, names of what is called, and comments. */
const TOKENS = new RegExp(
  [
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*')/,
    /(^%\w+|\bimport\b|\bfrom\b|\bas\b|^curl\b)/,
    /(\b[A-Za-z_]\w*)(?==)/,
    /(\b[A-Za-z_]\w*)(?=\()/,
    /(#.*$)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);
const CLASSES = ["t-str", "t-lit", "t-num", "t-fn", "t-dim"];

/** The run of a result as a magic, in Python and for a shell. */
export function Code({ result }: { result: P.ResultView }) {
  const { copy } = usePanel();
  const [reply, trouble] = useReply("code", { tab: "code" }, [result.number, result.variable]);
  return (
    <>
      <div class="jf-sub">
        <span class="jf-quiet">The same run as code.</span>
      </div>
      <div class="jf-scroll jf-codes" data-jf="code">
        {trouble && (
          <p class="jf-quiet" role="alert">
            {trouble}
          </p>
        )}
        {reply?.blocks.map(({ name, code, note }) => (
          <section class="jf-code" aria-label={LABELS[name]} key={name} data-jf={`code:${name}`}>
            <header>
              <b>{LABELS[name]}</b>
              <span class="jf-quiet jf-cut">{note}</span>
              <span class="jf-gap" />
              <Button
                icon="copy"
                label="Copy"
                aria={`Copy ${LABELS[name]}`}
                data-jf={`copy:${name}`}
                onClick={() => void copy(code)}
              />
            </header>
            <pre tabindex={0}>{coloured(code, TOKENS, CLASSES)}</pre>
          </section>
        ))}
      </div>
    </>
  );
}
