import { arrows } from "../core/arrows";
import { Icon } from "../core/icons";
import type * as P from "../core/protocol";

type Props = { choice: P.ChartChoice; choose: (value: string) => void; off: boolean };

/** One choice above a chart. */
export function Choice(props: Props) {
  return props.choice.name === "kind" ? <KindChoice {...props} /> : <ListChoice {...props} />;
}

/** Lines, bars and other kinds, as buttons. */
function KindChoice({ choice: { label, value, options }, choose, off }: Props) {
  const at = options.findIndex((option) => option.value === value);
  const keys = (event: KeyboardEvent) =>
    arrows(event, at, options.length, (next) => choose(options[next].value));
  return (
    <div class="jf-seg is-s" role="radiogroup" aria-label={label} onKeyDown={keys}>
      {options.map((option) => (
        <button
          type="button"
          role="radio"
          class="jf-kind"
          key={option.value}
          aria-checked={option.value === value}
          tabindex={option.value === value ? 0 : -1}
          aria-label={option.label}
          title={option.label}
          disabled={off}
          data-jf={`chart-kind:${option.value}s`}
          onClick={() => choose(option.value)}
        >
          <Icon name={`${option.value as P.ChartKind}s`} size={14} />
        </button>
      ))}
    </div>
  );
}

const ListChoice = ({ choice: { name, ...choice }, choose, off }: Props) => (
  <Pick {...choice} hook={`chart-${name}`} choose={choose} off={off} />
);

type PickProps = Omit<P.ChartChoice, "name"> & { hook: string } & Omit<Props, "choice">;

/** One of several values, in a list that is opened. */
export const Pick = ({ hook, label, value, options, choose, off }: PickProps) => (
  <label class="jf-pick">
    <span>{label}</span>
    <select
      data-jf={hook}
      disabled={off}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option
          key={option.value}
          value={option.value}
          selected={option.value === value}
          disabled={option.disabled}
        >
          {option.label}
        </option>
      ))}
    </select>
    <Icon name="chev" size={14} />
  </label>
);
