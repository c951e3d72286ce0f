import { Menu, type MenuItem } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { MenuProps } from "./opened";

/** The presets of the function, or of all of them while none is chosen. */
export function PresetsMenu({ anchor, close, open }: MenuProps) {
  const { view, values, ask, tell, toast } = usePanel();
  const id = view?.function?.id ?? "";
  const presets = view?.presets ?? [];
  const listed: (P.PresetView & { function?: string })[] = id
    ? presets
    : (view?.start?.presets ?? []);

  const fill = ({ name, function: of = id }: (typeof listed)[number]) => {
    const reply = ask("preset", { name, function: of });
    void tell(reply.then(({ said }) => said && toast(said)));
  };
  const items: MenuItem[] = [{ head: id ? "This function" : "All functions" }];
  for (const preset of listed) {
    items.push({
      label: preset.name,
      small: preset.about,
      checked: (id && values?.preset === preset.name) || undefined,
      jf: `preset:${preset.name}`,
      click: () => fill(preset),
    });
  }
  if (!listed.length) items.push({ label: "No presets yet", off: true, click: () => {} });
  if (id) {
    items.push("-", {
      label: "Save these values as a preset…",
      icon: "plus",
      jf: "preset-save",
      click: () => open("save"),
    });
  }
  if (presets.some((preset) => !preset.shipped)) {
    items.push({
      label: "Manage presets…",
      icon: "list",
      jf: "preset-manage",
      click: () => open("manage"),
    });
  }
  return <Menu anchor={anchor} close={close} label="Presets" items={items} width={296} right />;
}
