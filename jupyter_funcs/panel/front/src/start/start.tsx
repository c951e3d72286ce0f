import { usePanel } from "../core/panelcontext";
import { Card } from "./card";
import { Presets } from "./presets";
import { Recent } from "./recent";
import { Welcome } from "./welcome";

/**
 * What is here while no function is chosen: a search, functions with an example that runs, presets
 * and recent runs.
 */
export function Start() {
  const { view } = usePanel();
  const start = view?.start;
  if (!view || !start) return <div class="jf-start" data-jf="start" />;
  const { cards, presets, recent } = start;
  return (
    <div class="jf-start" data-jf="start">
      <Welcome service={view.service} />
      {cards.length > 0 && (
        <div>
          <h2 class="jf-sect">Functions</h2>
          <div class="jf-cards">
            {cards.map((card) => (
              <Card card={card} key={card.id} />
            ))}
          </div>
        </div>
      )}
      {(presets.length > 0 || recent.length > 0) && (
        <div class="jf-start-two">
          {presets.length > 0 && <Presets presets={presets} />}
          {recent.length > 0 && <Recent rows={recent} />}
        </div>
      )}
    </div>
  );
}
