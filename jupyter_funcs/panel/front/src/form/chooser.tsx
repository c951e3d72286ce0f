import { useRef, useState } from "preact/hooks";
import { inert } from "../core/format";
import { Icon } from "../core/icons";
import { ChosenChips } from "./chosenchips";
import { ComboInput } from "./comboinput";
import type { ControlProps } from "./control";
import { Dropdown } from "./dropdown";
import { Paste } from "./paste";
import { type ChooserState, useChooser } from "./useChooser";
import { usePaste } from "./usePaste";

/**
 * One of few or many options, listed by code or name; or several values as chips, with all, by
 * group and pasting.
 */
export function Chooser(props: ControlProps & { many?: boolean }) {
  const { field, state, id, many = false } = props;
  const chooser = useChooser(props, many);
  const { input, isChoosable, combo, value } = chooser;
  const [isPasting, setPasting] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const paste = usePaste(field, chooser.chosen.add);

  /** Pressed beside the input, which has the focus. */
  const aim = (event: MouseEvent) => {
    event.preventDefault();
    input.current?.focus();
    chooser.start();
  };
  const toggle = (event: MouseEvent) => {
    if (!combo.open) return aim(event);
    event.preventDefault();
    input.current?.focus();
    combo.setOpen(false);
  };
  const openPaste = () => {
    combo.setOpen(false);
    setPasting(true);
  };
  const look = [value && "has-value", many && "is-chips", !isChoosable && "is-free"];
  return (
    <div
      ref={box}
      class={`jf-box ${look.filter(Boolean).join(" ")}`}
      onMouseDown={(event) => event.target === box.current && aim(event)}
    >
      {value && <Shown chooser={chooser} />}
      {many && <ChosenChips chooser={chooser} unknown={state.unknown ?? []} aim={aim} />}
      <ComboInput control={props} chooser={chooser} listId={`${id}o`} paste={paste} />
      {isChoosable && (
        <button
          type="button"
          class="jf-mini"
          tabindex={-1}
          data-jf={`show:${field.name}`}
          aria-label={`${field.label}: show values`}
          onMouseDown={toggle}
        >
          <Icon name="chev" size={14} />
        </button>
      )}
      {combo.open && input.current && (
        <Dropdown
          anchor={input.current}
          box={box.current}
          listId={`${id}o`}
          chooser={chooser}
          openPaste={openPaste}
        />
      )}
      {isPasting && input.current && (
        <Paste
          anchor={input.current}
          place={box.current}
          field={field}
          close={() => setPasting(false)}
          done={paste}
        />
      )}
    </div>
  );
}

export const Chips = (props: ControlProps) => <Chooser {...props} many />;

/** The value that the box holds, with its name. */
function Shown({ chooser: { value, listed } }: { chooser: ChooserState }) {
  const label = listed.page.options.find((option) => option.value === value)?.label;
  return (
    <div class="jf-shown" aria-hidden="true">
      <span>{inert(value)}</span>
      {label && <span class="is-name">{inert(label)}</span>}
    </div>
  );
}
