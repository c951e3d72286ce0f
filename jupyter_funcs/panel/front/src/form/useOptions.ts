import { useEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { grouped, matching, withMore } from "./options";

const SEARCH_AFTER = 120; // milliseconds

const NONE: P.OptionPage = {
  options: [],
  total: 0,
  groups: [],
  note: "",
  at: null,
  again: false,
  asking: false,
};

/** The options that the page has: all of them, or the first ones. */
function pageOf({ options, flag }: P.FieldView): P.OptionPage {
  if (options) return options;
  const flags = (flag ?? []).map((value) => ({ value, label: "", group: "" }));
  return { ...NONE, options: flags, total: flags.length };
}

/** What the kernel has found, and what for. */
interface Reply extends P.OptionPage {
  query: string;
}

export type Options = ReturnType<typeof useOptions>;

/**
 * The options that match: searched here where the page has all of them, else by the kernel, a page
 * at a time.
 */
export function useOptions(field: P.FieldView, query: string, open: boolean, many: boolean) {
  const { ask, tell } = usePanel();
  const page = pageOf(field);
  const isWhole = page.options.length >= page.total;
  const isGrouped = many && !query.trim();
  const { reply, next } = useReplies(field, page, query, isGrouped, open && !isWhole);
  const listed = isWhole ? page : reply;
  const groups = isGrouped && listed ? listed.groups : [];
  const matches = isWhole ? matching(page.options, query) : (reply ?? page).options;
  const options = isWhole && groups.length ? grouped(matches, groups) : matches;

  /** All values that match, or those of one group. */
  const all = async (group: string): Promise<string[]> => {
    if (!isWhole) return (await ask("all_options", { field: field.name, group, query })).values;
    const taken = options.filter((option) => !group || option.group === group);
    return taken.map(({ value }) => value);
  };
  return {
    page,
    options,
    groups,
    total: isWhole ? options.length : (reply ?? page).total,
    /** Whether those that match the query are still searched. */
    late: !isWhole && query.trim() !== "" && reply?.query !== query,
    next: () => void tell(next()),
    all,
  };
}

/** What the kernel finds while `isAsked`. */
function useReplies(
  { name }: P.FieldView,
  page: P.OptionPage,
  query: string,
  isGrouped: boolean,
  isAsked: boolean,
) {
  const { ask, tell } = usePanel();
  const [reply, setReply] = useState<Reply | null>(null);
  const wanted = useRef("");
  const search = (from: number) => ask("options", { field: name, query, grouped: isGrouped, from });
  const first = async () => {
    const options = await search(0);
    if (wanted.current === query) setReply({ ...options, query });
  };
  useEffect(() => {
    wanted.current = query;
    if (!isAsked) return setReply(null);
    const timer = setTimeout(() => void tell(first()), SEARCH_AFTER);
    return () => clearTimeout(timer);
  }, [query, isAsked, page]);
  const next = async () => {
    if (!isAsked || !reply || reply.options.length >= reply.total) return;
    const more = await search(reply.options.length);
    if (wanted.current !== query) return;
    setReply({ ...reply, options: withMore(reply.options, more.options) });
  };
  return { reply, next };
}
