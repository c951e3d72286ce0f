import type { TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { marked } from "../core/format";
import { Icon } from "../core/icons";
import type { Found, FoundFunction } from "./useSearch";

interface FunctionListProps {
  id: string;
  found: Found | null;
  /** The place of the marked one. */
  at: number;
  mark: (at: number) => void;
  pick: (row: FoundFunction) => void;
  star: (row: FoundFunction) => Promise<void>;
  more: () => void;
}

/** The functions that were found, in their sections. */
export function FunctionList(props: FunctionListProps) {
  const { id, found, at, more } = props;
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(
    () => list.current?.querySelector(".is-on")?.scrollIntoView?.({ block: "nearest" }),
    [at, found],
  );
  const onScroll = ({ currentTarget: box }: TargetedEvent<HTMLElement>) => {
    if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) more();
  };
  const sections = found?.sections ?? [];
  let first = 0;
  return (
    <div
      class="jf-list"
      role="listbox"
      id={id}
      aria-label="Functions"
      ref={list}
      onScroll={onScroll}
    >
      {sections.map(({ title, functions }, nth) => {
        const place = first;
        first += functions.length;
        return (
          <div role="group" aria-label={title || "Found"} key={nth}>
            {title && title !== sections[nth - 1]?.title && (
              <div class="jf-ph" aria-hidden="true">
                {title}
              </div>
            )}
            {functions.map((row, index) => (
              <Option {...props} row={row} section={title} place={place + index} />
            ))}
          </div>
        );
      })}
      {found && !first && <Nothing query={found.query} />}
    </div>
  );
}

function Nothing({ query }: { query: string }) {
  return (
    <div class="jf-blank">
      <b>No function matches “{query}”</b>
      <span>Try fewer words, or “Refresh list of functions” in the ⋯ menu.</span>
    </div>
  );
}

interface OptionProps extends FunctionListProps {
  row: FoundFunction;
  section: string;
  place: number;
}

function Option({ id, found, at, mark, pick, star, row, section, place }: OptionProps) {
  const isOn = place === at;
  const query = found?.query ?? "";
  const onStar = (event: Event) => {
    event.stopPropagation();
    void star(row);
  };
  return (
    <div
      class={`jf-opt is-two ${isOn ? "is-on" : ""}`}
      role="option"
      id={`${id}-${place}`}
      aria-selected={isOn}
      data-jf={`function:${row.id}`}
      onMouseMove={() => isOn || mark(place)}
      onClick={() => pick(row)}
    >
      <div>
        {row.group !== section && <span class="is-group">{row.group}</span>}
        <span>{marked(row.name, query)}</span>
        {row.changesData && <span class="jf-quiet"> · changes data</span>}
        <p>{marked(row.about, query)}</p>
      </div>
      <span
        class={`jf-star ${row.favourite ? "is-set" : ""}`}
        aria-hidden="true"
        title={`${row.favourite ? "Remove from" : "Add to"} favourites (Ctrl+D)`}
        data-jf={`star:${row.id}`}
        onClick={onStar}
      >
        <Icon name="star" fill={row.favourite} />
      </span>
      {row.favourite && <span class="jf-off">favourite</span>}
    </div>
  );
}
