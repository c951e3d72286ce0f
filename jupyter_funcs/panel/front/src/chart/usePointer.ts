import { type Plan, TOP } from "./plan";
import { clamp } from "./scales";
import type { useCursor } from "./useCursor";
import type { useDrag } from "./useDrag";

type Parts = {
  canZoom: boolean;
  cursor: ReturnType<typeof useCursor>;
  drag: ReturnType<typeof useDrag>;
};

/** The handlers of the pointer: it reads values, and zooms while its button is pressed. */
export function usePointer(
  box: { current: HTMLElement | null },
  { left, wide, tall }: Plan,
  { canZoom, cursor, drag }: Parts,
) {
  const where = (event: PointerEvent) => {
    const rect = (box.current as HTMLElement).getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };
  return {
    onPointerDown(event: PointerEvent) {
      const [x, y] = where(event);
      if (!canZoom || event.button || !drag.begin(x, y)) return;
      cursor.leave();
      try {
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
      } catch {
        // The pointer is gone already.
      }
    },
    onPointerMove(event: PointerEvent) {
      const [x, y] = where(event);
      const within = clamp(x, left, left + wide);
      if (drag.isDragging()) drag.move(within);
      else if (y < TOP + tall + 6 && x >= left - 4) cursor.moveTo(within, y);
      else cursor.leave();
    },
    onPointerUp: drag.end,
    onPointerCancel: drag.end,
    onPointerLeave: () => drag.isDragging() || cursor.leave(),
  };
}
