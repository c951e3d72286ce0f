import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PanelState } from "./usePanelState";

export const PanelContext = createContext<PanelState>(null as unknown as PanelState);

/** Everything that a part needs: what the kernel says, and what may be asked of it. */
export const usePanel = () => useContext(PanelContext);
