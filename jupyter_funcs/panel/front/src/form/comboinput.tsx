import type { InputHTMLAttributes, TargetedEvent } from "preact";
import { count } from "../core/format";
import { type ControlProps, inputAttributes } from "./control";
import type { ChooserState } from "./useChooser";
import { useChooserKeys } from "./useChooserKeys";

/** What parts the values of a pasted list. */
const SEPARATORS = /[\r\n\t,;]/;

interface ComboInputProps {
  control: ControlProps;
  chooser: ChooserState;
  listId: string;
  paste: (text: string) => void;
}

/** The input of a combobox, which keeps the focus. */
export function ComboInput({ control, chooser, listId, paste }: ComboInputProps) {
  const { field, many, input, combo, chosen, value } = chooser;
  const keys = useChooserKeys(chooser);
  const size = chosen.values.length;
  const select = () => {
    if (!many) input.current?.select();
  };
  const click = () => {
    if (!combo.open) chooser.start();
  };
  const leave = () => {
    chooser.commit();
    combo.end();
  };
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
    combo.type(currentTarget.value);
  const onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!many || !SEPARATORS.test(text)) return;
    event.preventDefault();
    paste(text);
  };
  return (
    <input
      ref={input}
      {...inputAttributes(control)}
      {...comboAttributes(chooser, listId)}
      class={many && !size ? "is-alone" : ""}
      aria-label={many ? `${field.label}, ${count(size)} chosen` : undefined}
      value={combo.draft ?? value}
      placeholder={hintOf(chooser)}
      onFocus={select}
      onClick={click}
      onInput={onInput}
      onKeyDown={keys}
      onPaste={onPaste}
      onBlur={leave}
    />
  );
}

function comboAttributes(chooser: ChooserState, listId: string): InputHTMLAttributes {
  const { isChoosable, isMarked, combo } = chooser;
  if (!isChoosable) return {};
  return {
    role: "combobox",
    "aria-expanded": combo.open,
    "aria-autocomplete": "list",
    "aria-controls": listId,
    "aria-activedescendant": combo.open && isMarked ? `${listId}-${combo.at}` : undefined,
  };
}

/** What an empty box says. */
function hintOf({ field, many, isChoosable, combo, chosen }: ChooserState) {
  if (many && chosen.values.length) return "";
  if (many && !isChoosable) return "Type, Enter adds";
  // "Other…" was chosen, or the text deleted.
  if (!many && combo.draft === "") return "Type any value";
  return field.hint;
}
