import type * as P from "../core/protocol";
import { briefly, type Line } from "./drawing";
import { shortText, valueText } from "./scales";
import { Swatch } from "./swatch";

type Props = {
  view: P.ChartView;
  /** The lines' last values are those before this place. */
  end?: number;
  lines: Line[];
  hidden: string[];
  setHidden: (names: string[]) => void;
  setDim: (name: string | null) => void;
};

/** The name of a line, and what its value is called beside it. */
export const LineName = ({ name, label }: { name: string; label?: string }) => (
  <span class="jf-cut">
    {name}
    {label && <span class="jf-quiet"> {label}</span>}
  </span>
);

/** The names and last values of lines, which hide and show them. */
export function Legend({ view, end, lines, hidden, setHidden, setDim }: Props) {
  const by = view.choices.find(({ name }) => name === "colour")?.value;
  const brief = briefly(view);
  const signed = lines.some(({ values }) => values.some((value) => Number(value) < 0));
  const hasLast = !view.panels.length && view.kind !== "scatter";
  const last = ({ values }: Line) => {
    if (!hasLast) return "";
    const value = values.slice(0, end).findLast((known) => known !== null);
    if (view.format === "percent") return valueText(value, "percent", signed);
    return shortText(value, view.format);
  };
  const toggle = (name: string) =>
    setHidden(hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name]);
  const alone = (line: Line) =>
    setHidden(lines.filter((other) => other !== line).map(({ name }) => name));
  return (
    <div class="jf-legend" role="group" aria-label="Lines" data-jf="legend">
      <h3>
        <span>{by || "Line"}</span>
        {hasLast && <span>last</span>}
      </h3>
      {lines.map((line) => (
        <button
          type="button"
          key={line.name}
          data-jf={`legend:${line.name}`}
          aria-pressed={!hidden.includes(line.name)}
          title={`${[line.name, view.names[line.name]].filter(Boolean).join(" · ")}. ${
            hidden.includes(line.name) ? "Show" : "Hide. Double-click: show this line alone"
          }`}
          onClick={() => toggle(line.name)}
          onDblClick={() => alone(line)}
          onMouseEnter={() => setDim(line.name)}
          onMouseLeave={() => setDim(null)}
        >
          <Swatch colour={line.colour} />
          <LineName name={brief(line.name)} label={view.names[line.name]} />
          <span class="jf-num">{last(line)}</span>
        </button>
      ))}
      {hidden.length > 0 && (
        <button type="button" class="jf-inline" data-jf="legend-all" onClick={() => setHidden([])}>
          Show all
        </button>
      )}
    </div>
  );
}
