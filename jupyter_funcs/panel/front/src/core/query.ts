import type * as P from "./protocol";

/** All rows, as they are. */
export const ALL: P.TableQuery = { sort: [], filters: [], find: "", hidden: [] };
