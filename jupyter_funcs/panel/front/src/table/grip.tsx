import type { TargetedPointerEvent } from "preact";

/** The edge of a header, dragged to make its column wider. */
export function Grip({ name, setWidth }: { name: string; setWidth: (width: number) => void }) {
  const drag = (event: TargetedPointerEvent<HTMLElement>) => {
    const grip = event.currentTarget;
    const from = (grip.parentElement as HTMLElement).offsetWidth - event.clientX;
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    grip.onpointermove = (moved) => setWidth(from + moved.clientX);
    grip.onpointerup = () => {
      grip.onpointermove = null;
    };
  };
  return <i class="jf-grip" data-jf={`resize:${name}`} onPointerDown={drag} />;
}
