import { count, plural } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** "2 values pasted, 1 not in the list, 1 repeat left out". */
function pastedText({ values, unknown, repeated }: P.Requests["paste"]["out"]) {
  const parts = [`${plural(values.length, "value")} pasted`];
  if (unknown.length) parts.push(`${count(unknown.length)} not in the list`);
  if (repeated) parts.push(`${plural(repeated, "repeat")} left out`);
  return parts.join(", ");
}

/** Read a pasted list, take its values, and say what became of it. */
export function usePaste({ name }: P.FieldView, take: (values: string[]) => void) {
  const { ask, tell, toast } = usePanel();
  return (text: string) => {
    const reply = ask("paste", { field: name, text });
    const taken = reply.then((list) => {
      take(list.values);
      toast(pastedText(list));
    });
    void tell(taken);
  };
}
