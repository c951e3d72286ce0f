import { arrows } from "../core/arrows";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { ControlProps } from "./control";
import { TextBox } from "./entry";

interface Segment {
  value: string | null;
  label: string;
}

function segmentsOf({ flag, required, default: text }: P.FieldView): Segment[] {
  const [yes, no] = flag ?? ["Yes", "No"];
  const segments = [
    { value: yes, label: "Yes" },
    { value: no, label: "No" },
  ];
  if (required) return segments;
  return [{ value: null, label: text === null ? "Not set" : "Default" }, ...segments];
}

/** Yes, no, or the default; another value is a text. */
export function Segments(props: ControlProps) {
  const { field, state, id } = props;
  const { set } = usePanel();
  const segments = segmentsOf(field);
  const value = state.value ?? null;
  const at = segments.findIndex((segment) => segment.value === value);
  if (typeof value === "string" && at < 0) return <TextBox {...props} />;
  const focusable = Math.max(at, 0);
  const keys = (event: KeyboardEvent) =>
    arrows(event, focusable, segments.length, (next) => set(field.name, segments[next].value));
  return (
    <div
      class={`jf-seg ${value === null ? "" : "is-set"}`}
      role="radiogroup"
      aria-labelledby={`${id}l`}
      aria-required={field.required ? "true" : undefined}
      onKeyDown={keys}
    >
      {segments.map((segment, place) => (
        <button
          type="button"
          role="radio"
          id={place ? undefined : id}
          aria-checked={segment.value === value}
          tabindex={place === focusable ? 0 : -1}
          data-jf={`value:${field.name}:${segment.label}`}
          onClick={() => set(field.name, segment.value)}
        >
          {segment.label}
        </button>
      ))}
    </div>
  );
}
