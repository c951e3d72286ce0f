/** In milliseconds. */
export const TIMES = {
  typing: 150,
  busy: 500,
  beat: 200,
  quiet: 800,
  silence: 1_000,
  attended: 60_000,
  hello: 10_000,
  reply: 60_000,
};
