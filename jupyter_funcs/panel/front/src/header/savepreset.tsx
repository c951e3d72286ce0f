import { NameForm } from "../core/nameform";
import { usePanel } from "../core/panelcontext";
import type { OpenedProps } from "./opened";

/** Save the values of the form under a name. */
export function SavePreset({ anchor, close, taken }: OpenedProps & { taken: string[] }) {
  const { ask, toast } = usePanel();
  const save = async (name: string, replace: boolean) => {
    const reply = await ask("preset_save", { name, replace });
    if (reply.exists) return name;
    close();
    toast(reply.said);
    return "";
  };
  return (
    <NameForm
      anchor={anchor}
      close={close}
      title="Save these values as a preset"
      label="Name"
      hook="preset-save"
      taken={taken}
      save={save}
    />
  );
}
