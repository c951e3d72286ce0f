import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../core/icons";
import { Menu, type MenuItem } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

const NONE: MenuItem = { label: "No other function takes this value", off: true, click() {} };

/** Opens another function with the value of a cell in one of its fields. */
export function UseIn({ cell }: { cell: P.Requests["uses"]["in"] }) {
  const { ask, tell, use, live } = usePanel();
  const [anchor, open] = useState<HTMLElement | null>(null);
  const [uses, setUses] = useState<P.Use[]>([]);
  const show = async (button: HTMLElement) => {
    setUses((await ask("uses", cell)).uses);
    open(button);
  };
  const items = uses.map((place) => ({
    label: place.name,
    small: place.label,
    jf: `use:${place.function}:${place.field}`,
    click: () => use(place),
  }));
  return (
    <>
      <Button
        kind="is-line"
        icon="forth"
        label="Use in…"
        title="Alt+Enter on the cell"
        data-jf="use-in"
        aria-haspopup="menu"
        aria-expanded="false"
        disabled={live === "gone"}
        onClick={({ currentTarget }: TargetedEvent<HTMLElement>) =>
          anchor ? open(null) : void tell(show(currentTarget))
        }
      />
      {anchor && (
        <Menu
          anchor={anchor}
          close={() => open(null)}
          label="Use in"
          items={items.length ? items : [NONE]}
          width={240}
        />
      )}
    </>
  );
}
