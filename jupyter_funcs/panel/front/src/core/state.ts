export { arrows } from "./arrows";
export { download } from "./download";
export { PanelContext, usePanel } from "./panelcontext";
export { ALL } from "./query";
export { type PanelState, usePanelState } from "./usePanelState";
export { useReply } from "./useReply";
export { useResize } from "./useResize";
export { useUniqueId } from "./useUniqueId";
