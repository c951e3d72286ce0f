import { usePanel } from "../core/panelcontext";
import { Blank } from "./blank";
import { Failure } from "./failure";
import { Partial } from "./partial";
import { Shown } from "./shown";
import { Skeleton } from "./skeleton";

/** The right side of the panel: the result, or what stands for it. */
export function Result() {
  const { run } = usePanel();
  const { result, error, partial, running } = run;
  const isBlank = !result && !running && !error;
  return (
    <section
      class={`jf-result ${isBlank ? "is-blank" : ""}`}
      aria-label="Result"
      data-jf="result"
      aria-busy={running ? "true" : undefined}
    >
      {running && (
        <div class="jf-busyline">
          <i />
        </div>
      )}
      {error && <Failure error={error} earlier={Boolean(result)} />}
      {partial && !running && <Partial partial={partial} />}
      {result && <Shown result={result} />}
      {!result && running && <Skeleton />}
      {!result && !running && error && (
        <div class="jf-blank">
          <span>No result yet.</span>
        </div>
      )}
      {isBlank && <Blank />}
    </section>
  );
}
