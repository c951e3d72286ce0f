import { inert } from "../core/format";
import { Menu } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";
import { isList } from "./fieldstate";

const NONE = "The notebook has no column, list, text, number or date that can be used.";

interface VariablesProps {
  anchor: HTMLElement;
  field: P.FieldView;
  close: () => void;
}

/** The variables of the notebook that the field can be bound to. */
export function Variables({ anchor, field, close }: VariablesProps) {
  const { set } = usePanel();
  const [reply, trouble] = useReply("variables", { field: field.name }, []);
  const box = { anchor, close, label: "Use a variable", right: true, width: 272 };
  if (!reply?.variables.length) {
    const empty = reply ? NONE : "Looking…";
    return (
      <Popover {...box} role="dialog" class="jf-infopop">
        <p tabindex={0} role="status">
          {trouble || empty}
        </p>
      </Popover>
    );
  }
  const bind = (name: string, each: boolean) => {
    const word = `$${name}`;
    if (each) return set(field.name, { each: [word] });
    return set(field.name, isList(field) ? [word] : word);
  };
  const items = reply.variables.map(({ name, about, each }) => ({
    label: `$${name}`,
    small: inert(about),
    jf: `use:${name}`,
    click: () => bind(name, each),
  }));
  return <Menu key="found" {...box} items={items} />;
}
