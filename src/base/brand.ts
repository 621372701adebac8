/**
 * The bundle holds some classes twice, so that what an editor starts again and again is one file.
 * A brand makes `instanceof` mean the same for both copies.
 */
export function hasBrand(value: unknown, brand: symbol): boolean {
  return typeof value === "object" && value !== null && brand in value;
}
