import { useLayoutEffect, useRef } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type { ControlProps } from "./control";
import { exactly } from "./options";
import { useChosen } from "./useChosen";
import { useCombobox } from "./useCombobox";
import { useEarly } from "./useEarly";
import { useOptions } from "./useOptions";

export type ChooserState = ReturnType<typeof useChooser>;

/** A combobox: what it holds, what is typed and listed, and what choosing and leaving do. */
export function useChooser({ field, state }: ControlProps, many: boolean) {
  const { set } = usePanel();
  const input = useRef<HTMLInputElement>(null);
  const isChoosable = field.options !== null || field.flag !== null;
  const combo = useCombobox(isChoosable);
  const { text, query } = combo;
  const chosen = useChosen(field, state);
  const listed = useOptions(field, query, combo.open, many);
  const { page, options } = listed;
  const early = useEarly(field, page, many, chosen);
  /** Of one value. */
  const value = many ? "" : (chosen.values[0] ?? "");
  const hit = text ? exactly([...options, ...page.options], text) : undefined;
  const extra = field.open && !page.asking && !hit ? extraText(text, many) : "";

  /** Take what is typed. */
  const commit = () => {
    if (combo.draft === null) return;
    const taken = hit ? hit.value : query;
    const isFinal = hit || (!page.asking && page.total <= page.options.length);
    early.current = isFinal ? "" : query;
    if (!many && !combo.isOther.current) set(field.name, taken || null);
    else if (taken) chosen.add([taken]);
    combo.drop();
  };
  /** Open the list at what it holds, or else at a row. */
  const start = (row = -1) => {
    if (!isChoosable) return;
    const held = options.findIndex((option) => option.value === value);
    combo.mark(text ? 0 : Math.max(held, row));
    combo.setOpen(true);
  };
  const pickExtra = () => {
    if (!text) return combo.typeOther();
    commit();
    if (!many) combo.end();
  };
  const pick = (at: number) => {
    if (at >= options.length) return pickExtra();
    combo.drop();
    if (many) return chosen.toggle(options[at].value);
    combo.setOpen(false);
    set(field.name, options[at].value);
  };
  useLayoutEffect(() => {
    if (!combo.isEager.current || listed.late) return;
    combo.isEager.current = false;
    pick(0);
  }, [listed.late]);

  const rows = options.length + (extra ? 1 : 0);
  const isMarked = combo.at >= 0 && combo.at < rows;
  const parts = { field, many, input, isChoosable, combo, chosen, listed };
  return { ...parts, value, extra, rows, isMarked, commit, start, pick };
}

/** What the last row of an open list says: it takes what is typed, or leads to typing. */
function extraText(text: string, many: boolean) {
  if (text || many) return text;
  return "Other…";
}
