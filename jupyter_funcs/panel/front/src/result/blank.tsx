import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";

/** What stands in the result's place before the first run. */
export function Blank() {
  const { view, ask, tell, live } = usePanel();
  const { id = "", example = "" } = view?.function ?? {};
  return (
    <div class="jf-blank" data-jf="blank">
      <svg
        class="jf-ghost"
        width="72"
        height="44"
        viewBox="0 0 72 44"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        <path d="M2 42h68M6 32l12-8 10 5 12-14 12 6 14-16" />
        <path d="M6 38l12-3 10 1 12-6 12 2 14-7" opacity="0.5" />
      </svg>
      <b>The result appears here</b>
      <span>Fill in the form and run it{example && ", or start from an example"}.</span>
      {example && (
        <Button
          kind="is-line"
          icon="play"
          label={`Try: ${example}`}
          data-jf="try"
          disabled={live === "gone"}
          onClick={() => void tell(ask("example", { function: id }))}
        />
      )}
    </div>
  );
}
