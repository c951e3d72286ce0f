import { Popover } from "../core/popover";
import { useReply } from "../core/useReply";
import type { OpenedProps } from "./opened";

/** Version, service and token. */
export function About({ anchor, close }: OpenedProps) {
  const [reply, trouble] = useReply("about", {}, []);
  return (
    <Popover anchor={anchor} close={close} label="About" role="dialog" width={360} right>
      <div class="jf-infopop jf-about-box" tabindex={0} data-jf="about-box">
        <dl>
          {reply?.facts.map(([name, fact]) => (
            <>
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </>
          ))}
        </dl>
        {!reply && <p class="jf-quiet">{trouble || "Loading…"}</p>}
      </div>
    </Popover>
  );
}
