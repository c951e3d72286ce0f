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
      <span class={classes[found.slice(1).findIndex((each) => each !== undefined)]}>
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
export const size = (bytes: number) =>
  bytes >= 1e6
    ? `${(bytes / 1e6).toFixed(1)} MB`
    : bytes >= 1e3
      ? `${Math.round(bytes / 1e3)} kB`
      : `${bytes} B`;

/** A text of a service with what would act on the page's text made visible. */
export const inert = (text: string) =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** What is left of values without the words that all end with: "KORD" of "KORD US EQUITY", "KORD LN" where not all are of the US. */
export function shortened(values: string[]) {
  const words = values.map((value) => value.split(" "));
  let end = 0;
  while (
    values.length > 1 &&
    words.every(
      (each) =>
        each.length > end + 1 &&
        each[each.length - 1 - end] === words[0][words[0].length - 1 - end],
    )
  )
    end += 1;
  return (value: string) =>
    end > 1 || (end && words.every((each) => each.length > 2))
      ? value.split(" ").slice(0, -end).join(" ")
      : value;
}
