import { count } from "../core/format";
import type { MenuItem } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { forEach, isList, runsForEach, toggled } from "./fieldstate";

/** What opens beside the menu. */
export type Beside = "bind" | "paste";

interface MenuProps {
  field: P.FieldView;
  state: P.FieldState;
  onOther: (on: boolean) => void;
  open: (beside: Beside) => void;
  /** To go to the values, which come next. */
  enter: () => void;
}

function eachItem({ field, state }: MenuProps, click: () => void): MenuItem {
  const several = isList(field) ? "lists" : "values";
  const one = isList(field) ? "list" : "value";
  const each = runsForEach(state);
  return {
    label: `Run for each of several ${several}`,
    small: each ? "On" : `One run for each ${one}; the results are put together`,
    jf: `each:${field.name}`,
    checked: each,
    click,
  };
}

const sendItem = (name: string, constant: P.Constant, click: () => void): MenuItem => ({
  label: `Send ${constant}`,
  icon: "empty",
  jf: `send:${name}:${constant}`,
  click,
});

/** The entries of a field's menu. */
export function useFieldMenu(props: MenuProps): MenuItem[] {
  const { field, state, onOther, open, enter } = props;
  const { name, control, flag } = field;
  const { view, ask, set, tell } = usePanel();
  const total = field.options?.total ?? flag?.length ?? 0;

  const toggle = () => {
    set(name, toggled(field, state));
    if (!runsForEach(state)) enter();
  };
  const takeAll = async () => {
    const all = ask("all_options", { field: name, group: "", query: "" });
    set(name, forEach(field, (await all).values));
  };
  const takeFlags = (flags: string[]) => set(name, forEach(field, flags));
  const clear = () => {
    onOther(false);
    set(name, null);
  };

  const items: MenuItem[] = field.parts ? [] : [eachItem(props, toggle)];
  if (total > 1) {
    items.push({
      label: `Run for each of all ${count(total)}`,
      icon: "each",
      jf: `each-all:${name}`,
      click: () => (flag ? takeFlags(flag) : void tell(takeAll())),
    });
  }
  if (view?.trusted) {
    items.push({
      label: "Use a variable…",
      small: "A value of your notebook, looked up at the run",
      icon: "dollar",
      jf: `bind:${name}`,
      click: () => open("bind"),
    });
  }
  if (control !== "json" && !field.parts) {
    items.push({
      label: "Paste a list…",
      icon: "list",
      jf: `paste-menu:${name}`,
      click: () => open("paste"),
    });
  }
  if (control === "flag" && field.open) {
    items.push({
      label: "Other…",
      small: "Any text, sent as given",
      icon: "pencil",
      jf: `other:${name}`,
      click: () => onOther(true),
    });
  }
  const send = (constant: P.Constant) => sendItem(name, constant, () => set(name, { constant }));
  items.push("-", ...field.constants.map(send));
  items.push({ label: "Clear", icon: "undo", jf: `reset:${name}`, click: clear });
  return items;
}
