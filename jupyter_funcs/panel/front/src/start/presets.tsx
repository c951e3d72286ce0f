import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

type Preset = P.StartView["presets"][number];

/** The presets of all functions. */
export function Presets({ presets }: { presets: Preset[] }) {
  const { ask, tell, toast, live } = usePanel();
  const fill = async ({ name, function: of }: Preset) => {
    const { said } = await ask("preset", { name, function: of });
    if (said) toast(said);
  };
  return (
    <div>
      <h2 class="jf-sect">Presets</h2>
      <div class="jf-presets">
        {presets.map((preset) => (
          <button
            type="button"
            class="jf-preset"
            key={preset.name}
            data-jf={`preset:${preset.name}`}
            title={preset.about}
            disabled={live === "gone"}
            onClick={() => void tell(fill(preset))}
          >
            <Icon name="book" size={14} />
            <span>{preset.name}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
