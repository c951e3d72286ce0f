import { plural } from "./core/format";
import { Icon } from "./core/icons";
import { usePanel } from "./core/state";

/** What stands here while no function is chosen: a search, functions with an example that runs, presets and recent runs. */
export function Start() {
  const { view, ask, tell, toast, search, choose, channel, live } = usePanel();
  const start = view?.start;
  if (!view || !start) return <div class="jf-start" data-jf="start" />;
  const off = live === "gone";
  const said = (reply: Promise<{ said?: string }>) =>
    void tell(reply.then((each) => each.said && toast(each.said)));
  return (
    <div class="jf-start" data-jf="start">
      <div class="jf-start-top">
        {view.service.nothing ? (
          <>
            <h2>No functions</h2>
            <p data-jf="nothing">{view.service.nothing}</p>
          </>
        ) : (
          <>
            <h2>What would you like to look up?</h2>
            <button
              type="button"
              class="jf-start-search"
              data-jf="start-search"
              disabled={off}
              onClick={search}
            >
              <Icon name="search" />
              <span class="jf-gap jf-cut">
                Search {plural(view.service.functions, "function")}, fields and values
              </span>
              <kbd>/</kbd>
            </button>
          </>
        )}
      </div>
      {start.cards.length > 0 && (
        <div>
          <h2 class="jf-sect">Functions</h2>
          <div class="jf-cards">
            {start.cards.map((card) => (
              <article class="jf-card" key={card.id} data-jf={`card:${card.id}`}>
                <h3>
                  <button
                    type="button"
                    data-jf={`open:${card.id}`}
                    disabled={off}
                    onClick={() => choose(card.id)}
                  >
                    {card.name}
                  </button>
                  <button
                    type="button"
                    class="jf-star"
                    disabled={off}
                    aria-pressed={card.favourite}
                    data-jf={`star:${card.id}`}
                    aria-label={
                      card.favourite
                        ? `Remove ${card.name} from favourites`
                        : `Add ${card.name} to favourites`
                    }
                    onClick={() =>
                      void tell(ask("favourite", { function: card.id, on: !card.favourite }))
                    }
                  >
                    <Icon name="star" fill={card.favourite} />
                  </button>
                </h3>
                <p>{card.about}</p>
                {card.example && (
                  <button
                    type="button"
                    class="jf-try"
                    disabled={off}
                    title={card.example}
                    data-jf={`try:${card.id}`}
                    onClick={() => void tell(ask("example", { function: card.id }))}
                  >
                    <Icon name="play" size={12} fill />
                    <span>Try: {card.example}</span>
                  </button>
                )}
              </article>
            ))}
          </div>
        </div>
      )}
      {(start.presets.length > 0 || start.recent.length > 0) && (
        <div class="jf-start-two">
          {start.presets.length > 0 && (
            <div>
              <h2 class="jf-sect">Presets</h2>
              <div class="jf-presets">
                {start.presets.map((preset) => (
                  <button
                    type="button"
                    class="jf-preset"
                    key={preset.name}
                    data-jf={`preset:${preset.name}`}
                    title={preset.about}
                    disabled={off}
                    onClick={() =>
                      said(ask("preset", { name: preset.name, function: preset.function }))
                    }
                  >
                    <Icon name="book" size={14} />
                    <span>{preset.name}</span>
                  </button>
                ))}
              </div>
            </div>
          )}
          {start.recent.length > 0 && (
            <div>
              <h2 class="jf-sect">Recent runs</h2>
              <div class="jf-presets">
                {start.recent.map((row) => (
                  <button
                    type="button"
                    class="jf-preset"
                    key={row.number}
                    data-jf={`recent:${row.number}`}
                    disabled={off}
                    title={row.held ? "Open this result" : "Fill in these values and run again"}
                    onClick={() =>
                      said(
                        row.held
                          ? channel.ask("open", { number: row.number })
                          : channel.ask("again", { number: row.number }),
                      )
                    }
                  >
                    <Icon name="clock" size={14} />
                    <span>
                      {row.function}
                      <small>{row.differs.map((each) => each.value).join(" · ")}</small>
                    </span>
                    <span class="jf-mono jf-quiet is-end">{row.variable}</span>
                  </button>
                ))}
              </div>
            </div>
          )}
        </div>
      )}
    </div>
  );
}
