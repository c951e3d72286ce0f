import { sharp } from "./drawing";
import { type Plan, TOP } from "./plan";

/** The lines and labels of the axis of values. */
export function ValueAxis({ plan }: { plan: Plan }) {
  const { view, y, texts, left, wide, Y } = plan;
  const base = view.format === "index" ? 100 : 0;
  return (
    <>
      {y.ticks.map((value, at) => (
        <>
          <line
            key={`y${value}`}
            x1={left}
            x2={left + wide}
            y1={sharp(Y(value))}
            y2={sharp(Y(value))}
            class={value === base ? "g-base" : "g-line"}
          />
          <text key={`t${value}`} x={left - 8} y={Y(value) + 4} text-anchor="end">
            {texts[at]}
          </text>
        </>
      ))}
    </>
  );
}

/** The ticks and labels of the axis of times or categories. */
export function PointAxis({ plan }: { plan: Plan }) {
  const { marks, isTime, left, wide, tall, X } = plan;
  const end = left + wide + (isTime ? 1 : -12);
  const bottom = TOP + tall;
  const shown = marks.filter(([value]) => X(value) < end);
  return (
    <>
      {shown.map(([value, label]) => (
        <>
          <line
            key={`x${value}`}
            x1={sharp(X(value))}
            x2={sharp(X(value))}
            y1={bottom}
            y2={bottom + 4}
            class="g-base"
          />
          <text key={`l${value}`} x={X(value)} y={bottom + 17} text-anchor={anchor(X(value), plan)}>
            {label}
          </text>
        </>
      ))}
    </>
  );
}

/** A label at an end of the axis stays within it. */
function anchor(x: number, { isTime, left, wide }: Plan) {
  if (isTime && x < left + 12) return "start";
  return x > left + wide - 12 ? "end" : "middle";
}
