import { inert } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type { ControlProps } from "./control";
import { variableOf } from "./fieldstate";

/** The variable of the notebook that the field is bound to. */
export function VariableChip({ field, state, id }: ControlProps) {
  const { set } = usePanel();
  const bound = variableOf(state);
  if (!bound) return null;
  return (
    <div class="jf-box is-chips">
      <span class="jf-chip is-var" data-jf={`variable:${field.name}`}>
        <span>
          ${bound.variable}
          <small>{inert(bound.about)}</small>
        </span>
        <button
          type="button"
          id={id}
          data-jf={`unbind:${field.name}`}
          aria-label={`Remove variable ${bound.variable}`}
          onClick={() => set(field.name, null)}
        >
          <Icon name="x" size={12} />
        </button>
      </span>
    </div>
  );
}
