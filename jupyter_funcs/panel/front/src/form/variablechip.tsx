import type { ComponentChildren } from "preact";
import { inert } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type { ControlProps } from "./control";
import { constantOf, variableOf } from "./fieldstate";

/** The variable of the notebook that the field is bound to. */
export function VariableChip(props: ControlProps) {
  const { name } = props.field;
  const bound = variableOf(props.state);
  if (!bound) return null;
  return (
    <HeldChip
      of={props}
      kind="is-var"
      hook={`variable:${name}`}
      clear={{ jf: `unbind:${name}`, label: `Remove variable ${bound.variable}` }}
    >
      ${bound.variable}
      <small>{inert(bound.about)}</small>
    </HeldChip>
  );
}

/** Null, an empty text or an empty list, which is sent. */
export function ConstantChip(props: ControlProps) {
  const { name } = props.field;
  const constant = constantOf(props.state);
  return (
    <HeldChip
      of={props}
      kind="is-constant"
      hook={`constant:${name}`}
      clear={{ jf: `unsend:${name}`, label: `Clear ${constant}` }}
    >
      {constant}
    </HeldChip>
  );
}

interface HeldChipProps {
  of: ControlProps;
  kind: string;
  hook: string;
  clear: { jf: string; label: string };
  children: ComponentChildren;
}

/** What the field holds instead of entered text, and a button that clears it. */
function HeldChip({ of, kind, hook, clear, children }: HeldChipProps) {
  const { set } = usePanel();
  return (
    <div class="jf-box is-chips">
      <span class={`jf-chip ${kind}`} data-jf={hook}>
        <span>{children}</span>
        <button
          type="button"
          id={of.id}
          data-jf={clear.jf}
          aria-label={clear.label}
          aria-describedby={of.describe}
          onClick={() => set(of.field.name, null)}
        >
          <Icon name="x" size={12} />
        </button>
      </span>
    </div>
  );
}
