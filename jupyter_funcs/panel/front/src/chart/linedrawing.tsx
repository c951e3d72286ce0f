import { PointAxis, ValueAxis } from "./axes";
import { dash, ink, type Line, REST } from "./drawing";
import { type Plan, TOP } from "./plan";
import { isFilled } from "./shapes";

type Props = { plan: Plan; dim: string | null; clip: string };

/** The axes and the lines; all but one line may be dimmed. */
export function LineDrawing({ plan, dim, clip }: Props) {
  const { left, wide, tall, paths, view, X, Y } = plan;
  const hasLines = view.x.type !== "number";
  return (
    <>
      <clipPath id={clip}>
        <rect x={left} y={TOP - 4} width={wide} height={tall + 8} />
      </clipPath>
      <ValueAxis plan={plan} />
      <PointAxis plan={plan} />
      <g clip-path={`url(#${clip})`}>
        {isFilled(view) &&
          paths.map(({ line, fill }) => (
            <path
              key={line.name}
              d={fill}
              class={`g-fill is-${view.kind} ${dimmed(line, dim)}`}
              fill={ink(line.colour)}
            />
          ))}
        {hasLines &&
          [...paths]
            .reverse()
            .map(({ line, d }) => (
              <path
                key={line.name}
                d={d}
                class={line.colour === REST ? "g-rest" : `g-path ${dimmed(line, dim)}`}
                stroke={line.colour === REST ? undefined : ink(line.colour)}
                stroke-dasharray={dash(line.colour)}
              />
            ))}
        {paths
          .filter(({ line }) => view.kind === "scatter" || (hasLines && isShort(line)))
          .map(({ line, tops }) =>
            tops.map(
              (top, at) =>
                top !== null && (
                  <circle
                    key={`${line.name}${at}`}
                    class={`g-dot is-${view.kind} ${dimmed(line, dim)}`}
                    cx={X(view.x.values[at])}
                    cy={Y(top)}
                    r="3"
                    fill={ink(line.colour)}
                  />
                ),
            ),
          )}
      </g>
    </>
  );
}

/** A line of a point or two is hardly seen without them. */
const isShort = ({ values }: Line) => values.filter((value) => value !== null).length < 3;

const dimmed = ({ name }: Line, dim: string | null) =>
  dim !== null && dim !== name ? "is-dim" : "";
