import { Button } from "../core/icons";
import type * as P from "../core/protocol";

type Props = {
  rows: P.HistoryRow[] | null;
  chosen: P.HistoryRow[];
  off: boolean;
  compare: () => void;
  close: () => void;
};

/** The heading of the drawer, with the button that compares two ticked runs. */
export function HistoryHead({ rows, chosen, off, compare, close }: Props) {
  const isPair = chosen.length === 2;
  const hasEarlier = rows?.some(({ number }) => typeof number === "string");
  return (
    <div class="jf-dhead">
      <h2>History</h2>
      <span class="jf-quiet jf-wide-only">
        of this kernel
        {hasEarlier && " and earlier ones"}
      </span>
      <span class="jf-gap" />
      {!isPair && <span class="jf-quiet jf-wide-only">Tick two runs to compare</span>}
      <Button
        icon="compare"
        kind="is-line"
        label={compareLabel(chosen)}
        data-jf="compare"
        aria-disabled={isPair && !off ? undefined : "true"}
        onClick={() => off || compare()}
      />
      <Button icon="x" aria="Close history" data-jf="history-close" onClick={close} />
    </div>
  );
}

function compareLabel(chosen: P.HistoryRow[]) {
  if (chosen.length === 2 && chosen.some((row) => !row.held)) return "Run again and compare";
  return chosen.length ? `Compare (${chosen.length})` : "Compare";
}
