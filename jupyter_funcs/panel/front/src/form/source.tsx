import type { ComponentChildren } from "preact";
import { inert, plural } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

const HOUR = 60;
const DAY = 24 * HOUR;

/** "just now", "5 min old", "2 days old". `at` is in seconds since 1970. */
function age(at: number) {
  const minutes = Math.floor((Date.now() / 1000 - at) / 60);
  if (minutes < 1) return "just now";
  if (minutes < HOUR) return `${minutes} min old`;
  if (minutes < DAY) return `${plural(Math.floor(minutes / HOUR), "hour")} old`;
  return `${plural(Math.floor(minutes / DAY), "day")} old`;
}

interface SourceProps {
  field: P.FieldView;
  page: P.OptionPage;
  children?: ComponentChildren;
}

/** Where the values come from, and a button that lists them again. */
export function Source({ field, page, children }: SourceProps) {
  const { ask, tell } = usePanel();
  if (!page.note && !children) return null;
  return (
    <div class="jf-pf is-source">
      {children}
      <span class="jf-gap" title={page.note}>
        {sourceText(page, Boolean(children))}
      </span>
      {page.again && (
        <button
          type="button"
          class="jf-btn is-icon"
          tabindex={-1}
          data-jf={`ask:${field.name}`}
          aria-label="List them again"
          title="List them again"
          onClick={() => tell(ask("list_again", { field: field.name }))}
        >
          <Icon name="refresh" size={14} />
        </button>
      )}
    </div>
  );
}

/** "24 symbols from Get Universe · 5 min old"; beside a button the age alone, where it is known. */
function sourceText(page: P.OptionPage, isBeside: boolean) {
  if (!page.total && !page.asking) return "";
  const old = page.at && !page.asking ? age(page.at) : "";
  if (isBeside && old) return old;
  return [inert(page.note), old].filter(Boolean).join(" · ");
}
