import type * as P from "../core/protocol";

/** The arguments of two runs that differ, and those that are the same. */
export const ArgumentChanges = ({ view }: { view: P.CompareView }) => (
  <div>
    <h3>Arguments that differ</h3>
    <div class="jf-cmp-args" data-jf="compare-args">
      {view.args.map(({ name, before, after }) => (
        <>
          <span class="jf-quiet" key={name}>
            {name}
          </span>
          <span class="jf-chip is-plain">
            <span>{before || "none"}</span>
          </span>
          <span class="jf-quiet">and</span>
          <span>
            <span class="jf-chip is-plain">
              <span>{after || "none"}</span>
            </span>
          </span>
        </>
      ))}
      {view.args.length === 0 && <span class="jf-quiet is-all">None.</span>}
      {view.same && <span class="jf-quiet is-all">The same in both: {view.same}</span>}
    </div>
  </div>
);
