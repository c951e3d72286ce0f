import { plural } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** The search, or why there is nothing to search. */
export function Welcome({ service }: { service: P.ServiceView }) {
  const { live, search } = usePanel();
  if (service.nothing) {
    return (
      <div class="jf-start-top">
        <h2>No functions</h2>
        <p data-jf="nothing">{service.nothing}</p>
      </div>
    );
  }
  return (
    <div class="jf-start-top">
      <h2>What would you like to look up?</h2>
      <button
        type="button"
        class="jf-start-search"
        data-jf="start-search"
        disabled={live === "gone"}
        onClick={search}
      >
        <Icon name="search" />
        <span class="jf-gap jf-cut">
          Search {plural(service.functions, "function")}, fields and values
        </span>
        <kbd>/</kbd>
      </button>
    </div>
  );
}
