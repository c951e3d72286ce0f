import { plural } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { isEach, several } from "./fieldstate";

export type Chosen = ReturnType<typeof useChosen>;

/** The values of a field, and what changes them. */
export function useChosen(field: P.FieldView, state: P.FieldState) {
  const { announce, change } = usePanel();
  const values = several(state);

  const update = (next: (values: string[]) => string[]) =>
    change(field.name, (state) => {
      const isSweep = isEach(state);
      const list = next(several(state));
      // What is typed may repeat, as in a list of numbers.
      const mayRepeat = field.control === "list" && !isSweep;
      const taken = mayRepeat ? list : [...new Set(list)];
      announce(`${plural(taken.length, "value")} chosen`);
      const single = taken.length ? taken : null;
      return isSweep ? { each: taken } : single;
    });
  const add = (list: string[]) => update((values) => [...values, ...list]);
  const remove = (list: string[]) =>
    update((values) => values.filter((value) => !list.includes(value)));
  return {
    values,
    add,
    remove,
    clear: () => update(() => []),
    toggle: (value: string) => (values.includes(value) ? remove([value]) : add([value])),
    replace: (before: string, after: string) =>
      update((values) => values.map((value) => (value === before ? after : value))),
    /** A value may occur twice: it is taken away at its place. */
    removeAt: (place: number) => update((values) => values.filter((_, at) => at !== place)),
    /** Whether the order of the values counts. */
    isOrdered: !isEach(state) && values.length > 1,
  };
}
