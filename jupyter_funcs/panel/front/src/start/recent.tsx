import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** The last runs: a result that is held is opened, another is run again. */
export function Recent({ rows }: { rows: P.HistoryRow[] }) {
  const { ask, tell, toast, live } = usePanel();
  const open = async ({ number, held }: P.HistoryRow) => {
    const reply: { said?: string } = await (held
      ? ask("open", { number })
      : ask("again", { number }));
    if (reply.said) toast(reply.said);
  };
  return (
    <div>
      <h2 class="jf-sect">Recent runs</h2>
      <div class="jf-presets">
        {rows.map((row) => (
          <button
            type="button"
            class="jf-preset"
            key={row.number}
            data-jf={`recent:${row.number}`}
            disabled={live === "gone"}
            title={row.held ? "Open this result" : "Fill in these values and run again"}
            onClick={() => void tell(open(row))}
          >
            <Icon name="clock" size={14} />
            <span>
              {row.function}
              <small>{row.differs.map(({ value }) => value).join(" · ")}</small>
            </span>
            <span class="jf-mono jf-quiet is-end">{row.variable}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
