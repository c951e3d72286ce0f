import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../core/icons";
import { Menu, type MenuItem } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { FieldAbout } from "./fieldabout";
import { withPasted } from "./fieldstate";
import { Paste } from "./paste";
import { type Beside, useFieldMenu } from "./useFieldMenu";
import { usePaste } from "./usePaste";
import { Variables } from "./variables";

interface FieldToolsProps {
  field: P.FieldView;
  state: P.FieldState;
  onOther: (on: boolean) => void;
}

/** Help and menu of a field. */
export function FieldTools({ field, state, onOther }: FieldToolsProps) {
  const { change } = usePanel();
  const [open, setOpen] = useState<"" | "help" | "menu" | Beside>("");
  const help = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLButtonElement>(null);
  const close = () => setOpen("");
  const toggle = (what: "help" | "menu") => setOpen(open === what ? "" : what);
  const paste = usePaste(field, (pasted) =>
    change(field.name, (state) => withPasted(field, state, pasted)),
  );

  const enter = () => {
    const box = menu.current?.closest(".jf-field");
    const input = () => box?.querySelector<HTMLElement>(".jf-box :is(input, textarea)");
    setTimeout(() => {
      input()?.focus();
      input()?.click();
    }, 60);
  };
  const items = useFieldMenu({
    field,
    state,
    onOther,
    open: (beside) => setTimeout(() => setOpen(beside)),
    enter,
  });
  return (
    <span class="jf-tools">
      <Tool
        box={help}
        hook={`help:${field.name}`}
        label={`About ${field.label}`}
        opens="dialog"
        icon="info"
        toggle={() => toggle("help")}
      />
      <Tool
        box={menu}
        hook={`field-menu:${field.name}`}
        label={`${field.label}: options`}
        opens="menu"
        icon="dots"
        toggle={() => toggle("menu")}
      />
      {open === "help" && help.current && (
        <FieldAbout anchor={help.current} field={field} close={close} />
      )}
      {menu.current && (
        <Opened
          open={open}
          anchor={menu.current}
          field={field}
          items={items}
          paste={paste}
          close={close}
        />
      )}
    </span>
  );
}

interface OpenedProps {
  open: string;
  anchor: HTMLElement;
  field: P.FieldView;
  items: MenuItem[];
  paste: (text: string) => void;
  close: () => void;
}

/** The menu, or what it has opened. */
function Opened({ open, anchor, field, items, paste, close }: OpenedProps) {
  if (open === "bind") return <Variables anchor={anchor} field={field} close={close} />;
  if (open === "paste") return <Paste anchor={anchor} field={field} close={close} done={paste} />;
  if (open !== "menu") return null;
  const box = { anchor, close, label: field.label, right: true, width: 272 };
  return <Menu {...box} items={items} />;
}

interface ToolProps {
  box: RefObject<HTMLButtonElement>;
  hook: string;
  label: string;
  opens: "dialog" | "menu";
  icon: IconName;
  toggle: () => void;
}

/** A small button that opens something beside it. */
function Tool({ box, hook, label, opens, icon, toggle }: ToolProps) {
  return (
    <button
      ref={box}
      type="button"
      class="jf-mini"
      tabindex={-1}
      data-jf={hook}
      aria-label={label}
      aria-haspopup={opens}
      aria-expanded="false"
      onClick={toggle}
    >
      <Icon name={icon} size={14} />
    </button>
  );
}
