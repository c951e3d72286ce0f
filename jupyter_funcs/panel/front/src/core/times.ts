/** In milliseconds. */
export const TIMES = {
  typing: 150,
  busy: 500,
  beat: 1_000,
  /** Above the seconds between two events of progress. */
  quiet: 10_000,
  /** Of a scroll bar that is dragged. */
  rest: 60,
  longestRest: 300,
  silence: 1_000,
  attended: 60_000,
  hello: 10_000,
  reply: 60_000,
};
