import { useState } from "preact/hooks";
import { count, plural } from "../core/format";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

type PartialView = NonNullable<P.Run["partial"]>;
type Retry = (rows: number[]) => void;

const MOST_NAMED = 3;

/** The runs of a sweep that failed, to be run again. */
export function Partial({ partial }: { partial: PartialView }) {
  const { ask, tell, live } = usePanel();
  const [open, setOpen] = useState(false);
  const { failed, of } = partial;
  const retry: Retry = (rows) => void tell(ask("retry_failed", { rows }));
  return (
    <div class="jf-contents" data-jf="partial">
      <div class="jf-banner is-warn" role="status">
        <Icon name="warn" />
        <div class="jf-btxt">
          <b>
            {count(of - failed)} of {plural(of, "run")} done.
          </b>
          {" Failed: "}
          {named(partial)}.
        </div>
        <div class="jf-bact">
          <Button
            kind="is-line"
            icon="refresh"
            label={`Retry ${plural(failed, "run")}`}
            data-jf="retry-failed"
            disabled={live === "gone"}
            onClick={() => retry([])}
          />
          <Button
            label="Show them"
            chev
            data-jf="failed-runs"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          />
        </div>
      </div>
      {open && <FailedRuns partial={partial} retry={retry} off={live === "gone"} />}
    </div>
  );
}

/** "Symbol=A; Symbol=B; Symbol=C; and 4 more". */
function named({ rows, failed }: PartialView) {
  const names = rows.slice(0, MOST_NAMED).map(({ label }) => label);
  const others = failed - names.length;
  return [...names, ...(others > 0 ? [`and ${count(others)} more`] : [])].join("; ");
}

type FailedProps = { partial: PartialView; retry: Retry; off: boolean };

const FailedRuns = ({ partial: { rows, failed }, retry, off }: FailedProps) => (
  <ul class="jf-faillist" tabindex={0}>
    {rows.map((row, at) => (
      <li key={row.label} data-jf={`failed:${row.label}`}>
        <code>{row.label}</code>
        <span>{row.error}</span>
        <Button
          kind="is-link"
          label="Retry"
          aria={`Retry ${row.label}`}
          data-jf={`retry:${row.label}`}
          disabled={off}
          onClick={() => retry([at])}
        />
      </li>
    ))}
    {rows.length < failed && <li class="jf-quiet">and {count(failed - rows.length)} more</li>}
  </ul>
);
