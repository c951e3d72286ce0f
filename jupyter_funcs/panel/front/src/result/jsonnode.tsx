import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { JsonKey, JsonText } from "./jsontext";

type Path = (string | number)[];
type Child = P.JsonNode["children"][number];

/** Children of a page. */
const PAGE = 50;

/** Items of a value, from one of them on. */
export type ReadJson = (path: Path, from: number) => Promise<P.JsonNode>;

type ItemsProps = {
  read: ReadJson;
  path: Path;
  node?: P.JsonNode;
  label: string;
  goal?: number[];
};

/**
 * The items of an array or object, a page at a time; `goal` holds the places on the way to a hit.
 */
export function JsonItems({ read, path, node, label, goal }: ItemsProps) {
  const { live } = usePanel();
  const { first, items, total, waits, load } = useItems(read, path, node);
  const place = goal?.[0];
  const end = first + items.length;
  useLayoutEffect(() => {
    const isElsewhere = place !== undefined && (place < first || place >= end);
    if (isElsewhere) load(place - (place % PAGE));
    else if (total < 0) load(0);
  }, [goal]);
  const more = (text: string, hook: string, click: () => void) => (
    <button
      type="button"
      class="jf-inline"
      data-jf={hook}
      disabled={live === "gone"}
      onClick={() => waits || click()}
    >
      {text}
    </button>
  );
  return (
    <div role="group" aria-label={label} aria-busy={waits ? "true" : undefined}>
      {first > 0 && more(`Show from the first of ${count(total)}`, "json-first", () => load(0))}
      {items.map((child, at) => (
        <JsonChild
          key={child.key}
          child={child}
          read={read}
          path={[...path, child.key]}
          goal={place === first + at ? goal?.slice(1) : undefined}
        />
      ))}
      {total > end &&
        more(`Show ${Math.min(PAGE, total - end)} more of ${count(total)}`, "json-more", () =>
          load(end, true),
        )}
    </div>
  );
}

/** The children of a node that have arrived. */
function useItems(read: ReadJson, path: Path, node?: P.JsonNode) {
  const { tell } = usePanel();
  const [waits, setWaits] = useState(false);
  const [page, setPage] = useState({
    first: 0,
    items: node?.children ?? [],
    total: node?.total ?? -1,
  });
  const load = (from: number, isMore = false) => {
    setWaits(true);
    const reply = read(path, from).then(({ children, total }) =>
      setPage(({ first, items }) =>
        isMore
          ? { first, items: [...items, ...children], total }
          : { first: from, items: children, total },
      ),
    );
    void tell(reply.finally(() => setWaits(false)));
  };
  return { ...page, waits, load };
}

type ChildProps = { child: Child; read: ReadJson; path: Path; goal?: number[] };

/** A value on a line, or an array or object that opens. */
function JsonChild({ child, read, path, goal }: ChildProps) {
  const { key, text, whole } = child;
  const [open, setOpen] = useState(path.length === 1 && opensAtFirst(child));
  const line = useRef<HTMLDivElement>(null);
  const isHit = goal && (whole || goal.length === 0);
  useLayoutEffect(() => {
    if (isHit) line.current?.scrollIntoView?.({ block: "center" });
    else if (goal) setOpen(true);
  }, [String(goal)]);
  const look = `jf-node ${isHit ? "is-hit" : ""}`;
  if (whole)
    return (
      <div class={`${look} jf-leaf`} ref={line}>
        <span>
          <JsonKey name={key} />
          <JsonText text={text} />
        </span>
      </div>
    );
  return (
    <div>
      <div class={look} ref={line}>
        <button
          type="button"
          data-jf={`node:${key}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Icon name="right" size={14} />
          <span>
            <JsonKey name={key} />
            <span class="t-dim">{size(child)}</span>
            {!open && <span class="jf-hint">{text}</span>}
          </span>
        </button>
      </div>
      {open && <JsonItems read={read} path={path} label={String(key)} goal={goal} />}
    </div>
  );
}

/**
 * The rows are nearly always on the second level: the long arrays there open, and the short
 * objects.
 */
function opensAtFirst({ type, total }: Child) {
  return type === "object" ? total <= 10 : total > 10;
}

/** "[1,200]" or "{12}". */
function size({ type, total }: Child) {
  return type === "array" ? `[${count(total)}]` : `{${count(total)}}`;
}
