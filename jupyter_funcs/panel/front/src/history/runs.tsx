import type * as P from "../core/protocol";
import { type RunActions, RunRow } from "./runrow";

type Props = {
  rows: P.HistoryRow[] | null;
  trouble: string;
  ticked: P.RunNumber[];
  off: boolean;
  actions: RunActions;
};

/** The table of runs, or why there is none. */
export function Runs({ rows, trouble, ticked, off, actions }: Props) {
  if (trouble)
    return (
      <p class="jf-quiet jf-cmp" role="alert">
        {trouble}
      </p>
    );
  if (rows === null)
    return (
      <p class="jf-quiet jf-cmp" aria-busy="true">
        Reading the history…
      </p>
    );
  if (rows.length === 0) return <p class="jf-quiet jf-cmp">Nothing has been run yet.</p>;
  return (
    <table class="jf-hist">
      <Head />
      <tbody>
        {rows.map((row) => (
          <RunRow
            key={row.number}
            row={row}
            ticked={ticked.includes(row.number)}
            off={off}
            actions={actions}
          />
        ))}
      </tbody>
    </table>
  );
}

const Head = () => (
  <thead>
    <tr>
      <th scope="col">
        <span class="jf-off">Compare</span>
      </th>
      <th scope="col">Time</th>
      <th scope="col">Function</th>
      <th scope="col" class="is-args">
        Arguments that differ
      </th>
      <th scope="col" class="is-r">
        Rows
      </th>
      <th scope="col" class="is-r is-opt">
        Time taken
      </th>
      <th scope="col" class="is-opt">
        Variable
      </th>
      <th scope="col">
        <span class="jf-off">Actions</span>
      </th>
    </tr>
  </thead>
);
