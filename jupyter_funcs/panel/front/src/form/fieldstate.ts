import type * as P from "../core/protocol";

/** Whether each of several values makes a run. */
export function isEach({ value }: P.FieldState) {
  return Boolean(value && typeof value === "object" && "each" in value && value.each);
}

/** The variable of the notebook that a field is bound to. */
export function variableOf({ value }: P.FieldState) {
  return value && typeof value === "object" && "variable" in value ? value : null;
}

/** What a field holds that no text spells; else "". */
export function constantOf({ value }: P.FieldState) {
  return value && typeof value === "object" && "constant" in value ? value.constant : "";
}

/** The values of a field that has several, or a run for each of several. */
export function several({ value }: P.FieldState): string[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return [value];
  if (value && "each" in value && Array.isArray(value.each)) return value.each;
  return [];
}

/** Whether a run takes several values of a field. */
export const isList = ({ control }: P.FieldView) => control === "several" || control === "list";

export const runsForEach = (state: P.FieldState) =>
  isEach(state) || Boolean(variableOf(state)?.each);

/** One list as a line: values with commas between them. */
export function lineOf(values: string[]) {
  const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;
  return values.map((value) => (/[",]|^\s|\s$|^$/.test(value) ? quoted(value) : value)).join(", ");
}

/** Values for a run each; a run that takes several has a line for each list. */
export const forEach = (field: P.FieldView, values: string[]) => ({
  each: isList(field) ? values.map((value) => lineOf([value])) : values,
});

/** What a field holds, with what would fix it in place of what is wrong. */
export function repaired(state: P.FieldState, { use, instead }: P.Message): P.PageValue {
  const values = several(state).map((value) => (value === instead ? use : value));
  if (isEach(state)) return { each: values };
  return Array.isArray(state.value) ? values : use;
}

/** The same values for one run instead of one run each, or the other way round. */
export function toggled(field: P.FieldView, state: P.FieldState): P.PageValue {
  const values = several(state);
  const isSeveral = isList(field);
  if (runsForEach(state)) return isSeveral || field.control === "json" ? null : (values[0] ?? null);
  return { each: isSeveral && values.length ? [lineOf(values)] : values };
}

/** What a field holds, and a pasted list. */
export function withPasted(field: P.FieldView, state: P.FieldState, pasted: string[]): P.PageValue {
  const values = several(state);
  const each = runsForEach(state);
  const all = [...values, ...pasted];
  if (each && isList(field)) return { each: [...values, ...forEach(field, pasted).each] };
  if (field.control === "list" && !each) return all;
  const distinct = [...new Set(all)];
  if (each) return { each: distinct };
  if (isList(field)) return distinct;
  return distinct.length < 2 ? (distinct[0] ?? null) : { each: distinct };
}
