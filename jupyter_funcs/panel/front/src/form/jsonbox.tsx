import { type ControlProps, inputAttributes } from "./control";
import { useTyped } from "./useTyped";

/** A value in JSON, on several lines. */
export function JsonBox(props: ControlProps) {
  const typed = useTyped(props);
  const { hint, template } = props.field;
  return (
    <div class="jf-box">
      <textarea
        {...inputAttributes(props)}
        rows={3}
        value={typed.text}
        placeholder={template || hint}
        onInput={typed.onInput}
        onFocus={() => typed.text || typed.begin(template || "")}
        onBlur={typed.commit}
      />
    </div>
  );
}
