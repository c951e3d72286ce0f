import { PointAxis, ValueAxis } from "./axes";
import { dash, ink, type Line, REST } from "./drawing";
import { type Plan, TOP } from "./plan";

type Props = { plan: Plan; dim: string | null; clip: string };

/** The axes and the lines; all but one line may be dimmed. */
export function LineDrawing({ plan, dim, clip }: Props) {
  const { left, wide, tall, paths, lines, view, X, Y } = plan;
  return (
    <>
      <clipPath id={clip}>
        <rect x={left} y={TOP - 4} width={wide} height={tall + 8} />
      </clipPath>
      <ValueAxis plan={plan} />
      <PointAxis plan={plan} />
      <g clip-path={`url(#${clip})`}>
        {[...paths].reverse().map(({ line, d }) => (
          <path
            key={line.name}
            d={d}
            class={look(line, dim)}
            stroke={line.colour === REST ? undefined : ink(line.colour)}
            stroke-dasharray={dash(line.colour)}
          />
        ))}
        {lines
          .filter(isShort)
          .map((line) =>
            line.values.map(
              (value, at) =>
                value !== null && (
                  <circle
                    key={`${line.name}${at}`}
                    cx={X(view.x.values[at])}
                    cy={Y(value)}
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

function look({ name, colour }: Line, dim: string | null) {
  if (colour === REST) return "g-rest";
  return `g-path ${dim !== null && dim !== name ? "is-dim" : ""}`;
}
