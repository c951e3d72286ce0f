import { coloured } from "../core/format";

const PARTS = /("(?:[^"\\]|\\.)*"?)|(-?\d[\d.eE+-]*)|(true|false|null|NaN|-?Infinity)/g;
const CLASSES = ["t-str", "t-num", "t-lit"];

/** JSON on a line, in its colours. */
export const JsonText = ({ text }: { text: string }) => (
  <span class="t-dim">{coloured(text, PARTS, CLASSES)}</span>
);

export const JsonKey = ({ name }: { name: string | number }) => (
  <span class="t-key">
    {typeof name === "number" ? name : JSON.stringify(name)}
    <span class="t-dim">: </span>
  </span>
);
