import type { TargetedEvent } from "preact";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { Toolbar } from "../core/toolbar";
import { Chip } from "./chip";
import { filterText } from "./filtertext";
import { StepChips, StepTools } from "./steptools";
import type { GridState } from "./useGrid";

/** What stands above the rows: find, the filters, how many rows there are, and the view as code. */
export function Tools(props: { grid: GridState; result: P.ResultView; isPivot: boolean }) {
  const { grid } = props;
  const { code, off, isPart, listFrom, told } = grid;
  return (
    <div class="jf-sub">
      <Find grid={grid} />
      <Chips grid={grid} result={props.result} />
      <span class="jf-quiet jf-num" data-jf="row-count">
        {isPart && told}
      </span>
      <Toolbar label="Table">
        <StepTools {...props} />
        <Button
          icon="columns"
          aria="Columns (Ctrl+G)"
          data-jf="columns"
          aria-haspopup="dialog"
          aria-expanded="false"
          disabled={off}
          onClick={({ currentTarget }: TargetedEvent<HTMLElement>) => listFrom(currentTarget)}
        />
        <Button
          kind="is-link"
          icon="code"
          label="View as code"
          aria="View as code"
          small
          data-jf="view-code"
          aria-expanded={code.isOpen}
          disabled={off}
          onClick={code.toggle}
        />
      </Toolbar>
    </div>
  );
}

function Find({ grid }: { grid: GridState }) {
  const { query, hidden, off } = grid;
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
    query.search(currentTarget.value, hidden);
  return (
    <label class="jf-find">
      <Icon name="search" size={14} />
      <input
        data-jf="find"
        aria-label="Find in the rows"
        placeholder="Find"
        title="Texts and dates that contain it; numbers that equal it"
        value={query.find}
        disabled={off}
        onInput={onInput}
      />
    </label>
  );
}

/** What is filtered and hidden, to be taken away. */
function Chips({ grid, result }: { grid: GridState; result: P.ResultView }) {
  const { tell, seen } = usePanel();
  const { columns, hidden, hide, off, pages, query } = grid;
  const { filters } = pages.query;
  const [first] = hidden;
  const hiddenText =
    hidden.length === 1
      ? `${columns.nameOf(first)} is hidden`
      : `${hidden.length} columns are hidden`;
  return (
    <span class="is-chips">
      {filters.map((filter) => (
        <Chip
          key={filter.at}
          text={filterText(filter, columns.get(filter.at))}
          hook={columns.nameOf(filter.at)}
          label="Remove filter"
          remove={() => void tell(query.filter(filter.at, null))}
          off={off}
        />
      ))}
      {hidden.length > 0 && (
        <Chip text={hiddenText} hook="hidden" label="Show" remove={() => hide([])} />
      )}
      <StepChips grid={grid} result={result} />
      {seen.note && (
        <span class="jf-quiet" data-jf="view-note">
          {seen.note}
        </span>
      )}
      {filters.length > 1 && pages.total > 0 && (
        <button
          type="button"
          class="jf-inline"
          data-jf="remove-filters"
          disabled={off}
          onClick={query.clear}
        >
          Clear filters
        </button>
      )}
    </span>
  );
}
