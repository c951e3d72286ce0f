import { dash, ink } from "./drawing";

/** A piece of a line in its colour. */
export const Swatch = ({ colour, width = 16 }: { colour: number; width?: number }) => (
  <svg width={width} height="8" viewBox={`0 0 ${width} 8`} aria-hidden="true">
    <path
      d={`M0 4h${width}`}
      stroke={ink(colour)}
      stroke-width="2.5"
      stroke-dasharray={dash(colour)}
    />
  </svg>
);
