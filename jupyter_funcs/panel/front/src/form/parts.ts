import type * as P from "../core/protocol";

/** Whether a name is that of a part of a field, or of the field. */
export const isWithin = (field: P.FieldView, name: string) =>
  name === field.name || name.startsWith(`${field.name}.`);

/** How many rows a list of objects has, and 1 for an object. */
export const rowsOf = ({ value }: P.FieldState) =>
  value && typeof value === "object" && "rows" in value ? value.rows : 0;

/** Whether the parts of a field are shown: it has no variable, and no JSON that isn't an object. */
export const hasParts = (field: P.FieldView, state: P.FieldState) =>
  Boolean(field.parts) && ((state.value ?? null) === null || rowsOf(state) > 0);

/** The parts of a list of objects as those of one row. */
export const moved = (parts: P.FieldView[] = [], from: string, to: string): P.FieldView[] =>
  parts.map((part) => ({
    ...part,
    name: part.name.replace(from, to),
    parts: part.parts && moved(part.parts, from, to),
  }));

/** Fields, each followed by its parts. */
export const withParts = (fields: P.FieldView[]): P.FieldView[] =>
  fields.flatMap((field) => [field, ...withParts(field.parts ?? [])]);

/** What a field or a part of a row is called. */
export function labelOf(fields: P.FieldView[], name: string) {
  const names = [name, name.replace(/\.\d+(?=\.|$)/g, "[]")];
  return withParts(fields).find((field) => names.includes(field.name))?.label ?? name;
}
