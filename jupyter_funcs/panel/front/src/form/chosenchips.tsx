import { count, inert, shortened } from "../core/format";
import { Icon } from "../core/icons";
import type { ChooserState } from "./useChooser";

const MOST = 6;
const SHOWN_OF_MORE = 4;

interface ChosenChipsProps {
  chooser: ChooserState;
  /** Those that aren't among the options. */
  unknown: string[];
  aim: (event: MouseEvent) => void;
}

/** Several values, each of which can be removed; of many the first ones. */
export function ChosenChips({ chooser, unknown, aim }: ChosenChipsProps) {
  const { field, chosen, input } = chooser;
  const { values } = chosen;
  const shown = values.length > MOST ? values.slice(0, SHOWN_OF_MORE) : values;
  const short = shortened(shown);
  const remove = (place: number) => {
    chosen.removeAt(place);
    input.current?.focus();
  };
  return (
    <>
      {shown.map((value, place) => (
        // By its place, since a value may occur twice.
        <span key={place} class={`jf-chip ${unknown.includes(value) ? "is-warn" : ""}`}>
          <span title={value}>{inert(short(value))}</span>
          <button
            type="button"
            tabindex={-1}
            data-jf={`remove:${field.name}:${value}`}
            aria-label={`Remove ${value}`}
            onClick={() => remove(place)}
          >
            <Icon name="x" size={12} />
          </button>
        </span>
      ))}
      {values.length > shown.length && (
        <span class="jf-chip">
          <button
            type="button"
            tabindex={-1}
            class="jf-chip-more"
            data-jf={`chips-more:${field.name}`}
            onClick={aim}
          >
            +{count(values.length - shown.length)} more
          </button>
        </span>
      )}
    </>
  );
}
