import { count } from "../core/format";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";
import { JsonItems, type ReadJson } from "./jsonnode";
import { JsonText } from "./jsontext";
import { useJsonSearch } from "./useJsonSearch";

type Search = ReturnType<typeof useJsonSearch>;

/** The reply as it came. */
export function JsonTree({ result }: { result: P.ResultView }) {
  const { ask, tell, copy, live } = usePanel();
  const run = result.number;
  const [root, trouble] = useReply("json", { run, path: [], from: 0, tab: "json" }, [run]);
  const read: ReadJson = (path, from) => ask("json", { run, path, from });
  const search = useJsonSearch(run);
  const goal = search.hits?.hits[search.hits.at];
  const off = live === "gone";
  if (trouble)
    return (
      <div class="jf-blank" data-jf="json-empty">
        <b>Nothing to show</b>
        <span>{trouble}</span>
      </div>
    );
  return (
    <>
      <div class="jf-sub">
        <Find search={search} off={off} />
        <span class="jf-quiet" role="status" data-jf="json-found">
          {status(search, root)}
        </span>
        {goal && <Steps step={search.step} />}
        <span class="jf-gap" />
        <Button
          icon="copy"
          label="Copy"
          data-jf="copy-json"
          disabled={off}
          onClick={() => void tell(ask("json_text", { run }).then(({ text }) => copy(text)))}
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
        {root && root.children.length > 0 && (
          <JsonItems read={read} path={[]} node={root} label="Reply" goal={goal} />
        )}
        {root && root.children.length === 0 && (
          <div class="jf-node jf-leaf">
            <JsonText text={root.text} />
          </div>
        )}
      </div>
    </>
  );
}

function Find({ search, off }: { search: Search; off: boolean }) {
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || off) return;
    event.preventDefault();
    search.step(event.shiftKey ? -1 : 1);
  };
  return (
    <label class="jf-find">
      <Icon name="search" size={14} />
      <input
        data-jf="json-find"
        aria-label="Find in keys and values"
        placeholder="Find"
        title="Enter finds the next, Shift+Enter the one before"
        maxlength={1000}
        disabled={off}
        onInput={(event) => search.setText(event.currentTarget.value)}
        onKeyDown={keys}
      />
    </label>
  );
}

const Steps = ({ step }: { step: (by: number) => void }) => (
  <>
    <Button icon="up" size={14} aria="Previous" data-jf="json-up" onClick={() => step(-1)} />
    <Button icon="down" size={14} aria="Next" data-jf="json-down" onClick={() => step(1)} />
  </>
);

/** What the line above the tree says: how many were found, or what the reply is. */
function status({ text, hits }: Search, root: P.JsonNode | null) {
  if (hits && hits.hits.length > 0)
    return `${count(hits.at + 1)} of ${count(hits.hits.length)}${hits.more ? "+" : ""}`;
  if (hits) return hits.all ? "Not found" : "Not found in the part searched";
  if (text) return "Searching…";
  if (root?.type === "array") return `The reply as it came · ${count(root.total)} items`;
  if (root?.type === "object") return `The reply as it came · ${count(root.total)} keys`;
  return "The reply as it came";
}
