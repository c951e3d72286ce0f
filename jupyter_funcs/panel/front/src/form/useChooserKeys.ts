import { usePanel } from "../core/panelcontext";
import type { ChooserState } from "./useChooser";

const STEPS = new Map([
  ["ArrowDown", 1],
  ["ArrowUp", -1],
]);

/** The keys of a combobox. */
export function useChooserKeys(chooser: ChooserState) {
  const { submit, tell } = usePanel();
  const { many, combo, chosen, listed, rows, commit } = chooser;
  const { open, at, text } = combo;
  /** Soon listed: Enter waits for what matches, rather than to take half a name. */
  const isListing = listed.page.asking && listed.page.note.startsWith("Listing");

  const move = (by: number) => {
    if (!open) return chooser.start(0);
    if (!rows) return;
    // From no row, up leads to the last one.
    const from = at < 0 && by < 0 ? 0 : at;
    combo.mark((from + by + rows) % rows);
  };
  const enter = () => {
    if (open && isListing && text) return;
    if (open && listed.late) {
      combo.isEager.current = true;
      return;
    }
    if (open && chooser.isMarked) return chooser.pick(at);
    const adds = many && combo.query !== "";
    commit();
    if (!open && !adds) void tell(submit());
    if (!many) combo.setOpen(false);
  };
  /** Ctrl+Enter: the panel runs, with what was typed. */
  const leave = () => {
    commit();
    combo.setOpen(false);
  };

  return (event: KeyboardEvent) => {
    const by = STEPS.get(event.key);
    const isEnter = event.key === "Enter" && !event.isComposing;
    const isControl = event.ctrlKey || event.metaKey;
    if (by && chooser.isChoosable && !event.altKey) {
      event.preventDefault();
      move(by);
    } else if (isEnter && isControl) leave();
    else if (isEnter) {
      event.preventDefault();
      enter();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      combo.end();
    } else if (event.key === "Backspace" && many && !combo.query && chosen.values.length) {
      chosen.removeAt(chosen.values.length - 1);
    }
  };
}
