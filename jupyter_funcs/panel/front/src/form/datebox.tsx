import type { TargetedEvent } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../core/icons";
import type { ControlProps } from "./control";
import { Entry } from "./entry";
import { isVariable, useTyped } from "./useTyped";

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_LENGTH = 10;

/** A date to type, or to choose in the browser's calendar. */
export function DateBox(props: ControlProps) {
  const { field, state } = props;
  const isJudged = Boolean(state.errors?.length || state.warnings?.length);
  // A day is judged when its tenth character is typed; from then on at each key.
  const isPart = (text: string) =>
    isVariable(text) || (text.length > 0 && text.length < DAY_LENGTH && !isJudged);
  const typed = useTyped(props, isPart);
  const native = useRef<HTMLInputElement>(null);
  const open = () => {
    const input = native.current;
    if (!input) return;
    input.value = DAY.test(typed.text) ? typed.text : "";
    try {
      input.showPicker();
    } catch {
      input.focus();
    }
  };
  const onChange = ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
    typed.take(currentTarget.value);
  return (
    <Entry of={props} typed={typed} class="jf-num">
      <input
        ref={native}
        type="date"
        class="jf-native"
        tabindex={-1}
        aria-hidden="true"
        onChange={onChange}
      />
      <button
        type="button"
        class="jf-mini"
        tabindex={-1}
        data-jf={`calendar:${field.name}`}
        aria-label={`${field.label}: open calendar`}
        onClick={open}
      >
        <Icon name="cal" size={14} />
      </button>
    </Entry>
  );
}
