const ROWS = 12;
const WIDTHS = [96, 90, 110, 84, 100, 84];

/** Grey lines in the result's place while the first run takes its time. */
export function Skeleton() {
  return (
    <div class="jf-skel" role="status" aria-label="Running">
      <span class="jf-quiet">Running. The result appears here.</span>
      {Array.from({ length: ROWS }, (_, row) => (
        <div style={{ opacity: 1 - row * 0.07 }}>
          {WIDTHS.map((width, at) => (
            <i style={{ width: `${40 + ((width * (row + 3) * (at + 7)) % 50)}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
