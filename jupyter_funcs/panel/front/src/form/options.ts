import type * as P from "../core/protocol";

/** Options that match a text, the best first. */
export function matching(options: P.Option[], query: string) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return options;
  const words = wanted.split(/\s+/);
  /** -1 for what doesn't match. */
  const rank = ({ value, label, group }: P.Option) => {
    const code = value.toLowerCase();
    const name = label.toLowerCase();
    const text = `${code} ${name} ${group.toLowerCase()}`;
    return [
      code.startsWith(wanted),
      name.startsWith(wanted),
      ` ${name}`.includes(` ${wanted}`),
      words.every((word) => text.includes(word)),
    ].indexOf(true);
  };
  return options
    .map((option) => ({ option, place: rank(option) }))
    .filter(({ place }) => place >= 0)
    .sort((a, b) => a.place - b.place)
    .map(({ option }) => option);
}

/** The option that a text names in full: by its code, or by a name that no other has. */
export function exactly(options: P.Option[], text: string): P.Option | undefined {
  const wanted = text.toLowerCase();
  const coded = options.find(({ value }) => value.toLowerCase() === wanted);
  if (coded) return coded;
  const named = options.filter(({ label }) => label.toLowerCase() === wanted);
  const isOnlyOne = named.every(({ value }) => value === named[0].value);
  return isOnlyOne ? named[0] : undefined;
}

/** Options and more of them, none twice. */
export function withMore(options: P.Option[], more: P.Option[]) {
  const known = new Set(options.map(({ value }) => value));
  return [...options, ...more.filter(({ value }) => !known.has(value))];
}

/** Options in the order of their groups. */
export const grouped = (options: P.Option[], groups: P.OptionPage["groups"]) =>
  groups.flatMap(([name]) => options.filter(({ group }) => group === name));
