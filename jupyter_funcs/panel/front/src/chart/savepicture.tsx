import { useState } from "preact/hooks";
import { Button } from "../core/icons";
import { Menu } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { Line } from "./drawing";
import { type FileType, savePicture } from "./picture";

type Props = { box: { current: HTMLElement | null }; view: P.ChartView; lines: Line[] };

/** The button and menu that save what is drawn. */
export function SavePicture({ box, view, lines }: Props) {
  const { toast } = usePanel();
  const [anchor, open] = useState<HTMLElement | null>(null);
  const save = (type: FileType) => {
    const drawn = [...(box.current?.querySelectorAll<SVGSVGElement>(".jf-plot > svg") ?? [])];
    if (!drawn.length) return;
    const legend = view.kind === "bar" ? [] : lines;
    savePicture(drawn, view, legend, type).catch(() =>
      toast("The browser did not allow saving the picture."),
    );
  };
  return (
    <>
      <Button
        icon="save"
        aria="Save the picture"
        data-jf="chart-save"
        aria-haspopup="menu"
        aria-expanded="false"
        onClick={(event: any) => open(anchor ? null : event.currentTarget)}
      />
      {anchor && (
        <Menu
          anchor={anchor}
          close={() => open(null)}
          label="Save the picture"
          right
          width={160}
          items={[
            { label: "PNG", jf: "chart-save:png", click: () => save("png") },
            { label: "SVG", jf: "chart-save:svg", click: () => save("svg") },
          ]}
        />
      )}
    </>
  );
}
