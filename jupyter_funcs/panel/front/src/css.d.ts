/** A style sheet is bundled as its text. */
declare module "*.css" {
  const sheet: string;
  export default sheet;
}
