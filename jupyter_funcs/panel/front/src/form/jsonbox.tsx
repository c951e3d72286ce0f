import { type ControlProps, inputAttributes } from "./control";
import { useTyped } from "./useTyped";

/** A value in JSON, on several lines. */
export function JsonBox(props: ControlProps) {
  const typed = useTyped(props);
  return (
    <div class="jf-box">
      <textarea
        {...inputAttributes(props)}
        rows={3}
        value={typed.text}
        placeholder={props.field.hint}
        onInput={typed.onInput}
        onBlur={typed.commit}
      />
    </div>
  );
}
