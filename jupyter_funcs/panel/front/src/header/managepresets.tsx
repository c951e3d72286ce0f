import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import type { OpenedProps } from "./opened";

/** A person's own presets of the function, to be deleted. */
export function ManagePresets({
  anchor,
  close,
  presets,
}: OpenedProps & { presets: P.PresetView[] }) {
  const { ask, tell, toast } = usePanel();
  const remove = async (name: string) => {
    const { said } = await ask("preset_delete", { name });
    toast(said);
    if (presets.length < 2) close();
  };
  return (
    <Popover anchor={anchor} close={close} label="Presets" role="dialog" width={296} right>
      <div class="jf-ph">Your presets of this function</div>
      <ul class="jf-list">
        {presets.map(({ name }) => (
          <li class="jf-preset" key={name}>
            <span>{name}</span>
            <span class="is-end">
              <Button
                icon="x"
                aria={`Delete ${name}`}
                data-jf={`preset-delete:${name}`}
                onClick={() => void tell(remove(name))}
              />
            </span>
          </li>
        ))}
      </ul>
    </Popover>
  );
}
