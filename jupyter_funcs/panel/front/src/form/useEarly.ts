import { useEffect, useRef } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { exactly } from "./options";
import type { Chosen } from "./useChosen";

/**
 * A text that was taken as typed, before the options were there, becomes the option that it names.
 */
export function useEarly(
  { name }: P.FieldView,
  { asking }: P.OptionPage,
  many: boolean,
  chosen: Chosen,
) {
  const { ask, change, tell } = usePanel();
  const early = useRef("");
  const { values } = chosen;
  const correct = async (typed: string) => {
    const reply = await ask("options", { field: name, query: typed, grouped: false, from: 0 });
    const meant = exactly(reply.options, typed)?.value ?? typed;
    if (meant === typed) return;
    if (many) chosen.replace(typed, meant);
    else change(name, ({ value }) => (value === typed ? meant : undefined));
  };
  useEffect(() => {
    const typed = early.current;
    if (asking || !typed || !values.includes(typed)) return;
    early.current = "";
    void tell(correct(typed));
  }, [asking, values.includes(early.current)]);
  return early;
}
