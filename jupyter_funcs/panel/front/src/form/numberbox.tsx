import type { InputHTMLAttributes } from "preact";
import { Icon } from "../core/icons";
import type * as P from "../core/protocol";
import type { ControlProps } from "./control";
import { Entry } from "./entry";
import { type Typed, useTyped } from "./useTyped";

const STEPS = new Map([
  ["ArrowUp", 1],
  ["ArrowDown", -1],
]);

/** A number, with buttons and keys for the next and the one before. */
export function NumberBox(props: ControlProps) {
  const { field } = props;
  const typed = useTyped(props);
  const number = numberOf(typed.text);
  const step = (by: number) => {
    const next = stepped(field, number, by);
    // Without the last digits, which 0.1 + 0.2 gets wrong.
    if (Number.isFinite(next)) typed.take(String(Number(next.toPrecision(12))));
  };
  const keys = (event: KeyboardEvent) => {
    const by = STEPS.get(event.key);
    if (by && field.strict && !event.altKey) {
      event.preventDefault();
      step(by);
    }
    typed.onEnter(event);
  };
  return (
    <Entry
      of={props}
      typed={typed}
      inputmode={field.integer ? "numeric" : "decimal"}
      class="jf-num"
      onKeyDown={keys}
      {...(field.strict ? spinAttributes(field, typed, number) : {})}
    >
      {field.strict && (
        <div class="jf-step">
          <button
            type="button"
            tabindex={-1}
            aria-label={`${field.label}: less`}
            data-jf={`less:${field.name}`}
            onClick={() => step(-1)}
          >
            <Icon name="minus" size={12} />
          </button>
          <button
            type="button"
            tabindex={-1}
            aria-label={`${field.label}: more`}
            data-jf={`more:${field.name}`}
            onClick={() => step(1)}
          >
            <Icon name="plus" size={12} />
          </button>
        </div>
      )}
    </Entry>
  );
}

function numberOf(text: string) {
  const number = Number(text || NaN);
  return Number.isFinite(number) ? number : undefined;
}

/**
 * The next number within the bounds; from nothing, the one beside the default, or else the lowest.
 */
function stepped(field: P.FieldView, number: number | undefined, by: number) {
  const { minimum: low, maximum: high } = field;
  let next = Number(low ?? 0);
  if (number !== undefined) next = number + by;
  else if (field.default !== null) next = Number(field.default) + by;
  return Math.max(low ?? -Infinity, Math.min(high ?? Infinity, next));
}

const spinAttributes = (
  { minimum, maximum, hint }: P.FieldView,
  { text }: Typed,
  number: number | undefined,
): InputHTMLAttributes => ({
  role: "spinbutton",
  "aria-valuemin": minimum ?? undefined,
  "aria-valuemax": maximum ?? undefined,
  "aria-valuenow": number,
  "aria-valuetext": text || hint || "Empty",
});
