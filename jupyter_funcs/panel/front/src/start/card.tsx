import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** A function, with an example that runs. */
export function Card({ card }: { card: P.FunctionView }) {
  const { id, name, about, example, changesData } = card;
  const { ask, tell, choose, live } = usePanel();
  const off = live === "gone";
  return (
    <article class="jf-card" data-jf={`card:${id}`}>
      <h3>
        <button type="button" data-jf={`open:${id}`} disabled={off} onClick={() => choose(id)}>
          {name}
        </button>
        <Star card={card} off={off} />
      </h3>
      <p>
        {changesData && "Changes data · "}
        {about}
      </p>
      {example && (
        <button
          type="button"
          class="jf-try"
          disabled={off}
          title={example}
          data-jf={`try:${id}`}
          onClick={() => void tell(ask("example", { function: id }))}
        >
          <Icon name="play" size={12} fill />
          <span>Try: {example}</span>
        </button>
      )}
    </article>
  );
}

function Star({ card: { id, name, favourite }, off }: { card: P.FunctionView; off: boolean }) {
  const { ask, tell } = usePanel();
  return (
    <button
      type="button"
      class="jf-star"
      disabled={off}
      aria-pressed={favourite}
      data-jf={`star:${id}`}
      aria-label={favourite ? `Remove ${name} from favourites` : `Add ${name} to favourites`}
      onClick={() => void tell(ask("favourite", { function: id, on: !favourite }))}
    >
      <Icon name="star" fill={favourite} />
    </button>
  );
}
