import { useRef, useState } from "preact/hooks";
import { isVariable } from "./useTyped";

/** What is typed into a combobox, whether its list is open, and the row that is marked there. */
export function useCombobox(isChoosable: boolean) {
  /** `null` while nothing is typed. */
  const [draft, setDraft] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const [at, mark] = useState(-1);
  /** "Other…" was chosen, and nothing has been typed yet. */
  const isOther = useRef(false);
  /** Enter was pressed before what matches was found. */
  const isEager = useRef(false);
  const query = draft ?? "";

  const forget = () => {
    isOther.current = false;
    isEager.current = false;
  };
  const type = (typed: string) => {
    forget();
    setDraft(typed);
    if (isChoosable) setOpen(true);
    mark(typed.trim() && !isVariable(typed) ? 0 : -1);
  };
  const typeOther = () => {
    isOther.current = true;
    setDraft("");
    setOpen(false);
  };
  const end = () => {
    forget();
    setDraft(null);
    setOpen(false);
  };
  return {
    draft,
    query,
    text: query.trim(),
    drop: () => setDraft(null),
    open,
    setOpen,
    at,
    mark,
    isOther,
    isEager,
    type,
    typeOther,
    end,
  };
}
