import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { coloured, count } from "../core/format";
import { Button, Icon } from "../core/icons";
import type * as P from "../core/protocol";
import { usePanel, useReply } from "../core/state";
export type Path = (string | number)[];
export type Item = P.JsonNode["children"][number];

const PAGE = 50;
const PARTS = /("(?:[^"\\]|\\.)*"?)|(-?\d[\d.eE+-]*)|(true|false|null|NaN|-?Infinity)/g;

/** JSON on a line, in its colours. */
const Line = ({ text }: { text: string }) => (
  <span class="t-dim">{coloured(text, PARTS, ["t-str", "t-num", "t-lit"])}</span>
);

const Key = ({ name }: { name: string | number }) => (
  <span class="t-key">
    {typeof name === "number" ? name : JSON.stringify(name)}
    <span class="t-dim">: </span>
  </span>
);

/** The items of an array or object, a page at a time; `goal` holds the places on the way to what was found. */
function Items({
  run,
  path,
  node,
  label,
  goal,
}: {
  run: number;
  path: Path;
  node?: P.JsonNode;
  label: string;
  goal?: number[];
}) {
  const { ask, tell, live } = usePanel();
  const [{ first, items, total }, setPage] = useState({
    first: 0,
    items: node?.children ?? [],
    total: node?.total ?? -1,
  });
  const [waits, setWaits] = useState(false);
  const load = (from: number, more = false) => {
    setWaits(true);
    const page = ask("json", { run, path, from }).then(({ children, total }) =>
      setPage((old) =>
        more
          ? { ...old, items: [...old.items, ...children], total }
          : { first: from, items: children, total },
      ),
    );
    void tell(page.finally(() => setWaits(false)));
  };
  const place = goal?.[0];
  useLayoutEffect(() => {
    if (place !== undefined && (place < first || place >= first + items.length))
      load(place - (place % PAGE));
    else if (total < 0) load(0);
  }, [goal]);
  const end = first + items.length;
  const button = (text: string, click: () => void, hook = "json-more") => (
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
      {first > 0 && button(`Show from the first of ${count(total)}`, () => load(0), "json-first")}
      {items.map((item, at) => (
        <Item
          key={item.key}
          item={item}
          run={run}
          path={[...path, item.key]}
          goal={place === first + at ? goal?.slice(1) : undefined}
        />
      ))}
      {total > end &&
        button(`Show ${Math.min(PAGE, total - end)} more of ${count(total)}`, () =>
          load(end, true),
        )}
    </div>
  );
}

function Item({ item, run, path, goal }: { item: Item; run: number; path: Path; goal?: number[] }) {
  const { key, type, text, total, whole } = item;
  // The rows are nearly always on the second level: open the long arrays there, and the short objects.
  const [open, setOpen] = useState(
    path.length === 1 && (type === "object" ? total <= 10 : total > 10),
  );
  const line = useRef<HTMLDivElement | null>(null);
  const hit = goal && (whole || goal.length === 0);
  const at = String(goal);
  useLayoutEffect(() => {
    if (hit) line.current?.scrollIntoView?.({ block: "center" });
    else if (goal) setOpen(true);
  }, [at]);
  const look = `jf-node ${hit ? "is-hit" : ""}`;
  if (whole)
    return (
      <div class={`${look} jf-leaf`} ref={line}>
        <span>
          <Key name={key} />
          <Line text={text} />
        </span>
      </div>
    );
  const size = type === "array" ? `[${count(total)}]` : `{${count(total)}}`;
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
            <Key name={key} />
            <span class="t-dim">{size}</span>
            {!open && <span class="jf-hint">{text}</span>}
          </span>
        </button>
      </div>
      {open && <Items run={run} path={path} label={String(key)} goal={goal} />}
    </div>
  );
}

/** The reply as it came. */
export function JsonTree({ result }: { result: P.ResultView }) {
  const { ask, tell, copy, live } = usePanel();
  const run = result.number;
  const [root, wrong] = useReply("json", { run, path: [], from: 0 }, [run]);
  const [text, setText] = useState("");
  const [found, setFound] = useState<(P.Requests["json_find"]["out"] & { at: number }) | null>(
    null,
  );
  const turn = useRef<Promise<unknown>>(Promise.resolve()); // one search at a time
  useEffect(() => {
    let current = true;
    setFound(null);
    const search = () =>
      current &&
      tell(
        ask("json_find", { run, text }).then((reply) => current && setFound({ ...reply, at: 0 })),
      );
    const timer = text
      ? setTimeout(() => (turn.current = turn.current.then(search)), 250)
      : undefined;
    return () => ((current = false), clearTimeout(timer));
  }, [run, text]);
  const off = live === "gone";
  const step = (by: number) =>
    found?.hits.length &&
    setFound({ ...found, at: (found.at + by + found.hits.length) % found.hits.length });
  const keys = (event: KeyboardEvent) =>
    event.key === "Enter" && !off && (event.preventDefault(), step(event.shiftKey ? -1 : 1));
  const goal = found?.hits[found.at];
  if (wrong)
    return (
      <div class="jf-blank" data-jf="json-empty">
        <b>Nothing to show</b>
        <span>{wrong}</span>
      </div>
    );
  const many =
    root &&
    (root.type === "array"
      ? `${count(root.total)} items`
      : root.type === "object"
        ? `${count(root.total)} keys`
        : "");
  const of =
    found &&
    (found.hits.length
      ? `${count(found.at + 1)} of ${count(found.hits.length)}${found.more ? "+" : ""}`
      : found.all
        ? "Not found"
        : "Not found in the part searched");
  const said = of || (text ? "Searching…" : `The reply as it came${many && ` · ${many}`}`);
  return (
    <>
      <div class="jf-sub">
        <label class="jf-find">
          <Icon name="search" size={14} />
          <input
            data-jf="json-find"
            aria-label="Find in keys and values"
            placeholder="Find"
            title="Enter finds the next, Shift+Enter the one before"
            maxlength={1000}
            disabled={off}
            onInput={(event: any) => setText(event.currentTarget.value)}
            onKeyDown={keys}
          />
        </label>
        <span class="jf-quiet" role="status" data-jf="json-found">
          {said}
        </span>
        {goal && (
          <>
            <Button
              icon="up"
              size={14}
              aria="Previous"
              data-jf="json-up"
              onClick={() => step(-1)}
            />
            <Button icon="down" size={14} aria="Next" data-jf="json-down" onClick={() => step(1)} />
          </>
        )}
        <span class="jf-gap" />
        <Button
          icon="copy"
          label="Copy"
          data-jf="copy-json"
          disabled={off}
          onClick={() => void tell(ask("json_text", { run }).then((reply) => copy(reply.text)))}
        />
      </div>
      <div
        class="jf-scroll jf-tree"
        data-jf="json"
        tabindex={0}
        role="region"
        aria-label="Reply"
        aria-busy={root ? undefined : "true"}
      >
        {root &&
          (root.children.length ? (
            <Items run={run} path={[]} node={root} label="Reply" goal={goal} />
          ) : (
            <div class="jf-node jf-leaf">
              <Line text={root.text} />
            </div>
          ))}
      </div>
    </>
  );
}
