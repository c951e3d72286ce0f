/** A text with the words of a search marked, as text and never as markup. */
export function marked(text: string, query: string) {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean).slice(0, 20);
  if (!words.length) return text;
  const any = new RegExp(
    `(${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`,
    "gi",
  );
  return text.split(any).map((part, at) => (at % 2 ? <mark>{part}</mark> : part));
}

/** A text in colours: each group of the pattern has a class. What is in none stays as it is. */
export function coloured(text: string, pattern: RegExp, classes: string[]) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    parts.push(
      text.slice(at, found.index),
      <span class={classes[found.slice(1).findIndex((group) => group !== undefined)]}>
        {found[0]}
      </span>,
    );
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

const COUNT = new Intl.NumberFormat("en-US");

/** "162,545". */
export const count = (n: number) => COUNT.format(n);

/** "1 row", "2 rows". */
export const plural = (n: number, one: string, many: string = `${one}s`) =>
  `${count(n)} ${n === 1 ? one : many}`;

/** "6.2 MB". */
export function size(bytes: number) {
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return bytes >= 1e3 ? `${Math.round(bytes / 1e3)} kB` : `${bytes} B`;
}

/** A text of a service with what would act on the page's text made visible. */
export const inert = (text: string) =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * Return what shortens values that all end with the same words: "KORD" for "KORD US EQUITY", "KORD
 * LN" where not all are of the US.
 */
export function shortened(values: string[]) {
  const words = values.map((value) => value.split(" "));
  const shared = values.length > 1 ? sharedAtTheEnd(words) : 0;
  const isWorthIt = shared > 1 || (shared > 0 && words.every(({ length }) => length > 2));
  return (value: string) => (isWorthIt ? value.split(" ").slice(0, -shared).join(" ") : value);
}

/** How many words all end with; each keeps at least its first. */
function sharedAtTheEnd(words: string[][]) {
  let shared = 0;
  const isShared = (own: string[]) =>
    own.length > shared + 1 && own.at(-1 - shared) === words[0].at(-1 - shared);
  while (words.every(isShared)) shared += 1;
  return shared;
}
