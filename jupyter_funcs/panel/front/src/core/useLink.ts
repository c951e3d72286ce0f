import { useEffect } from "preact/hooks";
import type { Channel } from "./channel";
import type * as P from "./protocol";
import type { Tell } from "./useRequests";

/** A link to a function as it is copied: a query, in a page of Voila with the page's own address. */
export const linkOf = (query: string, view: P.View | null) =>
  view?.public ? location.origin + location.pathname + query : query;

/** Fill in what the address of a page of Voila names, in its first panel. */
export function useLink(view: P.View | null, channel: Channel, tell: Tell) {
  const isPublic = view?.public ?? false;
  useEffect(() => {
    if (!isPublic) return;
    const { dataset } = document.documentElement;
    const text = location.search;
    if (!/[?&]funcs=/.test(text) || dataset.jfLink === text) return;
    dataset.jfLink = text;
    void tell(channel.ask("link", { text }));
  }, [isPublic]);
}
