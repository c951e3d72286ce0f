import { plural } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { isEach, several } from "./fieldstate";

export type Chosen = ReturnType<typeof useChosen>;

/** The values of a field, and what changes them. */
export function useChosen(field: P.FieldView, state: P.FieldState) {
  const { announce, set } = usePanel();
  const values = several(state);
  const isSweep = isEach(state);

  const put = (list: string[]) => {
    // What is typed may repeat, as in a list of numbers.
    const mayRepeat = field.control === "list" && !isSweep;
    const next = mayRepeat ? list : [...new Set(list)];
    const single = next.length ? next : null;
    set(field.name, isSweep ? { each: next } : single);
    announce(`${plural(next.length, "value")} chosen`);
  };
  const add = (list: string[]) => put([...values, ...list]);
  const remove = (list: string[]) => put(values.filter((value) => !list.includes(value)));
  return {
    values,
    put,
    add,
    remove,
    toggle: (value: string) => (values.includes(value) ? remove([value]) : add([value])),
    replace: (before: string, after: string) =>
      put(values.map((value) => (value === before ? after : value))),
    /** A value may occur twice: it is taken away at its place. */
    removeAt: (place: number) => put(values.filter((_, at) => at !== place)),
    /** Whether the order of the values counts. */
    isOrdered: !isSweep && values.length > 1,
  };
}
